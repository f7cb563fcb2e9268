# Samples of hours for jobs of seconds, written by `remuda-sim series` as nodes send them.

# samples PROFILE JOB RUN [REFERENCE]: of so many samples, that end when the job began.
samples() {
    local node
    node=$(sacct -X -D -n -j "${4:-$2}" -o nodelist | head -1 | tr -d ' ')
    python3 "$BATS_TEST_DIRNAME/profiles.py" "$1" "$2" "$3" "$node" "$(($(date +%s) - 3300))" >samples."$2.$3"
    mkdir -p -m 700 "$REMUDA_STATE/series"
    remuda-sim series "$REMUDA_STATE/series" <samples."$2.$3"
}

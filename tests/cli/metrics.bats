#!/usr/bin/env bats
# /metrics and its kin, as Prometheus and others read them: pages and who may read them, the dashboards of share/grafana, slow clients, a store that is away.
bats_require_minimum_version 1.5.0
load common

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

setup_file() {
    unset SLURM_CONF
    export WHY_NOT=
    TOP=$(mktemp -d /tmp/remuda-metrics-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine a100mig" >"$TOP/gpus"
    remuda up -q 3>&-
    PORT=$(free_port)
    export PORT
    configured
    eventually answers || true
    get livez | grep -q ok || WHY_NOT="this Remuda was built without libhttp-parser"
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$TOP" || exit 1
}

teardown() {
    if mountpoint -q "$TOP/disk"; then
        rm -f "$TOP/disk/fill"
        REMUDA_STATE="$TOP/disk/state" remuda down || true
        umount -l "$TOP/disk"
    fi
}

# configured LINE…: with these lines beside those that open the port.
configured() {
    sed -i '/^Metrics\|^PrivateData=\|^JobAcctGather/d' "$REMUDA_STATE/remuda.conf"
    printf '%s\n' MetricsType=metrics/openmetrics "MetricsAddress=127.0.0.1:$PORT" JobAcctGatherFrequency=1 "$@" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

# get PATH [OPTION OF metrics_get.py…]
get() { python3 "$BATS_TEST_DIRNAME/metrics_get.py" "${@:2}" "$PORT" "$1"; }
answers() { get livez | grep -q ok || grep -q "built without" "$REMUDA_STATE/log/controller.log"; }
status_of() { get "$@" --status; }
shows() { get metrics | grep -q "$1"; }
shows_not() { get metrics >"$TOP/page" && [ -s "$TOP/page" ] && ! grep -q "$1" "$TOP/page"; }

# value ROW: of the page, as it begins
value() { get metrics | awk -v row="$1 " 'index($0, row) == 1 { print $NF }'; }

counts() { [ "$(value "$1")" = "$2" ]; }

# A Prometheus of share/prometheus.yml that scrapes each second: $PROMETHEUS, to be killed.
prometheus_up() {
    sed "s/127.0.0.1:6821/127.0.0.1:$PORT/; s/15s/1s/" "$BATS_TEST_DIRNAME/../../share/prometheus.yml" >prom.yml
    PROMETHEUS_PORT=$(free_port)
    rm -rf "$TOP/tsdb"
    prometheus --config.file=prom.yml --storage.tsdb.path="$TOP/tsdb" --web.listen-address="127.0.0.1:$PROMETHEUS_PORT" >prom.log 2>&1 3>&- &
    PROMETHEUS=$!
    scraped() { prometheus_asks "query?query=slurm_nodes" | jq -e '.data.result[0].value[1] == "1"'; }
    eventually scraped || { cat prom.log; kill "$PROMETHEUS"; false; }
}
prometheus_asks() { python3 "$BATS_TEST_DIRNAME/metrics_get.py" "$PROMETHEUS_PORT" "api/v1/$1"; }

@test "a running job is on the page with each device that it has, by the names of its instances; after its end it is not" {
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:a100_1g.5gb:2 -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    get metrics/running >page
    [ "$(grep -c "^remuda_job_device{job_id=\"$id\",user=\"$(id -un)\"" page)" = 2 ]
    grep -q "^remuda_job_device{job_id=\"$id\",.*node=\".*\",kind=\"gpu\",index=\"[0-9]\",type=\"a100_1g.5gb\",uuid=\"MIG-102\"} 1\$" page
    grep -q "^remuda_job_info{job_id=\"$id\"" page
    eventually counts slurm_jobs_running 1
    eventually counts slurm_jobs_gpus_alloc 2
    eventually counts 'remuda_gpus{type="a100_1g.5gb",state="allocated"}' 2
    eventually shows "^remuda_job_gpu_memory_max_bytes{job_id=\"$id\""
    scancel "$id"
    eventually shows_not "job_id=\"$id\""
}

@test "every metric that a dashboard names is there" {
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:1 -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    get metrics | sed -n 's/^\([a-z_]*\)[ {].*/\1/p' | sort -u >there
    get metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort -u >>there
    for board in "$BATS_TEST_DIRNAME"/../../share/grafana/*.json; do
        jq -r '.panels[].targets[].expr, (.templating.list[].definition // empty)' "$board" >exprs
        [ -s exprs ]
        grep -oE '\b(slurm|remuda)_[a-z_]+' exprs | sort -u >named
        [ -s named ]
        comm -23 named <(sort -u there) >missing
        [ ! -s missing ] || { echo "$board names what is not there:"; cat missing; false; }
        jq -e '.uid and .title and (.panels | length > 0) and ([.panels[].id] | length == (unique | length))' "$board" >/dev/null
    done
    scancel "$id"
}

@test "each expression of a dashboard is PromQL" {
    command -v promtool >/dev/null || skip "there is no promtool"
    jq -rs '{groups: [{name: "boards", rules: [.[].panels[].targets[].expr | gsub("\\$__rate_interval"; "5m") | {record: "x", expr: .}] | to_entries | map(.value + {record: "x\(.key)"})}]}' \
        "$BATS_TEST_DIRNAME"/../../share/grafana/*.json >rules.yml
    promtool check rules rules.yml
}

@test "promtool and Prometheus take the pages as they are" {
    command -v promtool >/dev/null && command -v prometheus >/dev/null || skip "there is no prometheus"
    # Of its rules of style it misses one: Slurm's names of sums end in _sum, which it wants for histograms.
    for page in metrics metrics/jobs metrics/jobs-users-accts metrics/nodes metrics/partitions metrics/scheduler metrics/running; do
        get "$page" -H 'Accept: text/plain' >page
        promtool check metrics <page >said 2>&1 || [ $? = 3 ]
        run ! grep -v '^slurm_.*_sum non-histogram and non-summary' said
    done
    promtool check config "$BATS_TEST_DIRNAME/../../share/prometheus.yml"
    prometheus_up
    # A scrape that is under way says neither.
    taken() { prometheus_asks targets >targets && jq -e '.data.activeTargets[0] | .health == "up" and .lastError == ""' targets; }
    eventually taken || { cat targets prom.log; kill "$PROMETHEUS"; false; }
    kill "$PROMETHEUS"
}

@test "a Prometheus that scrapes has an answer for each query of each dashboard" {
    command -v prometheus >/dev/null || skip "there is no prometheus"
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:a100:1 -o /dev/null --wrap 'sleep 300')
    held=$(sbatch --parsable -H -c1 --mem=100 -o /dev/null --wrap true)
    wait_state "$id" RUNNING
    printf 'machine a100mig\nrate 1 60\nused 1 3000\nmw 1 210000\n' >gpus.new
    mv gpus.new gpus
    eventually shows "^remuda_job_device_power_watts{job_id=\"$id\""
    prometheus_up
    cat >queries.py <<'P'
import glob, json, sys, time, urllib.parse, urllib.request
port, boards = sys.argv[1:]
# Of these there is nothing where all is well.
MAY_BE_EMPTY = {"Devices that are not healthy"}
def ask(expr):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expr})) as answer:
        return json.load(answer)["data"]["result"]
queries = []
for path in sorted(glob.glob(boards)):
    for panel in json.load(open(path))["panels"]:
        for target in panel["targets"]:
            expr = target["expr"].replace("$__rate_interval", "1m")
            for variable in ("partition", "user", "account", "job_id"):
                expr = expr.replace("$" + variable, ".*")
            assert "$" not in expr, expr
            queries.append((panel["title"], expr))
assert len(queries) > 50, len(queries)
until = time.time() + 60
while queries and time.time() < until:  # rates need two scrapes
    queries = [(title, expr) for title, expr in queries if not ask(expr) and title not in MAY_BE_EMPTY]
    time.sleep(0.5 if queries else 0)
assert not queries, queries
now = {r["metric"]["index"]: float(r["value"][1]) for r in ask("remuda_job_device_busy_percent")}
assert list(now.values()) == [60], now
P
    local ok=1
    python3 queries.py "$PROMETHEUS_PORT" "$BATS_TEST_DIRNAME/../../share/grafana/*.json" || ok=0
    kill "$PROMETHEUS"
    echo "machine a100mig" >gpus.new
    mv gpus.new gpus
    scancel "$id" "$held"
    [ "$ok" = 1 ]
}

@test "what is there and what is not" {
    [ "$(status_of '')" = 200 ]
    [[ "$(get '')" == *"/metrics/jobs-users-accts: "* ]]
    [ "$(status_of nothing)" = 404 ]
    [ "$(status_of metrics/jobs/)" = 200 ]
    [ "$(status_of metrics -X POST)" = 405 ]
    [ "$(get readyz)" = ok ]
    [ "$(get livez)" = ok ]
    [ "$(get healthz)" = ok ]
    [ "$(get metrics --type)" = "application/openmetrics-text; version=1.0.0; charset=utf-8" ]
    [ "$(get metrics --type -H 'Accept: text/plain')" = "text/plain; version=0.0.4; charset=utf-8" ]
    [ "$(get metrics/nodes | tail -n 1)" = "# EOF" ]
    get metrics/nodes | grep -q '^slurm_node_cpus{node='
    run ! grep -q '^slurm_jobs' <(get metrics/nodes)
}

@test "PrivateData holds for who just connects; with the token, and at metrics.sock, all is told" {
    id=$(sbatch --parsable -c1 --mem=100 -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    printf 'correct horse\n' >token
    chmod 600 token
    configured PrivateData=jobs "MetricsTokenFile=$TOP/token"
    eventually shows_not "job_id="
    shows_not "username="
    eventually counts slurm_jobs_running 1
    get metrics -H 'Authorization: Bearer correct horse' | grep -q "job_id=\"$id\""
    [ "$(status_of metrics -H 'Authorization: Bearer wrong')" = 401 ]
    [ "$(status_of metrics -H 'Authorization: Bearer ')" = 401 ]
    get metrics/running --unix "$REMUDA_STATE/metrics.sock" | grep -q "job_id=\"$id\""
    [ "$(stat -c %a "$REMUDA_STATE/metrics.sock")" = 600 ]
    scancel "$id"
    configured
}

@test "a controller that was killed has the running job and its devices on the page again" {
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:a100_1g.5gb:1 -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    kill -9 "$(remuda status --pid controller)"
    remuda up -q 3>&-
    eventually shows "^remuda_job_device{job_id=\"$id\",.*uuid=\"MIG-"
    scancel "$id"
    eventually shows_not "job_id=\"$id\""
}

# What a browser sends that was led to this address by a name of another's.
@test "by a name that is none of this machine's nothing is told" {
    asked() { curl -s -o told -w '%{http_code}' -H "Host: $1" "http://127.0.0.1:$PORT/$2"; }
    [ "$(asked evil.example:6821 metrics)" = 421 ]
    ! grep -q slurm_ told || false
    [ "$(asked evil.example '')" = 421 ]
    [ "$(asked evil.example livez)" = 200 ]
    grep -q "asked for by the name evil.example:6821, which is none.*MetricsAddress=127.0.0.1:$PORT,evil.example" "$REMUDA_STATE/log/controller.log"
    for name in localhost "$(hostname)" "127.0.0.1:$PORT" '[::1]:7'; do
        [ "$(asked "$name" metrics)" = 200 ]
    done
    two() { exec 5<>"/dev/tcp/127.0.0.1/$PORT" && printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: x\r\n\r\n' >&5 && head -n 1 <&5; }
    [[ "$(two)" == "HTTP/1.1 400 "* ]]
    sed -i "s/^MetricsAddress=.*/&,metrics.example/" "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    eventually bash -c "[ \"\$(curl -s -o told -w '%{http_code}' -H 'Host: metrics.example' http://127.0.0.1:$PORT/metrics)\" = 200 ]"
    [ "$(asked evil.example metrics)" = 421 ]
}

@test "who sends half a request, or does not read, keeps neither Prometheus nor users waiting" {
    python3 - "$PORT" 3>&- <<'END' &
import socket, sys, time
held = []
for i in range(200):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    try:
        s.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + (b"\r\n" if i % 2 else b"X-"))
    except OSError:
        pass
    held.append(s)
open("held", "w").close()
time.sleep(60)
END
    local pid=$!
    eventually test -e held
    for _ in 1 2 3; do
        get metrics | tail -n 1 | grep -q "# EOF"
        sinfo >/dev/null
    done
    kill "$pid"
}

@test "another user who connects without end keeps neither the owner from his pages nor users waiting" {
    [ "$(id -u)" = 0 ] || skip "only root has another user"
    mkdir -m 777 flood
    cat >flood/flood.py <<'END'
import os, socket, sys
held, asks = [], sys.argv[2].encode()
os.chdir("flood")
os.fork(), os.fork()
while os.path.exists("go"):
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
        s.send(asks and b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % asks)
        held.append(s)
    except OSError:
        pass
    if len(held) == 300:
        open("flooded", "w").close()
        held.pop(0).close()
try:
    while os.wait():
        pass
except ChildProcessError:
    pass
END
    chmod 644 flood/flood.py
    local asks pid ok
    for asks in '' metrics; do
        rm -f flood/flooded
        touch flood/go
        setpriv --reuid=nobody --regid=nogroup --clear-groups env PATH=/usr/local/bin:/usr/bin:/bin python3 flood/flood.py "$PORT" "$asks" 3>&- &
        pid=$!
        eventually test -e flood/flooded
        ok=1
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            get metrics --unix "$REMUDA_STATE/metrics.sock" | tail -n 1 | grep -q "# EOF" || ok=0
        done
        eventually answers || ok=0
        sinfo >/dev/null || ok=0
        rm -f flood/go
        wait "$pid" || true
        [ "$ok" = 1 ]
    done
}

@test "the port is opened, moved and closed by reconfigure; one that is taken is tried again" {
    local first=$PORT
    other=$(free_port)
    python3 -c "import socket, time, os; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $other)); s.listen(); open('taken', 'w').close(); time.sleep(60)" 3>&- &
    local pid=$!
    eventually test -e taken
    PORT=$other
    configured
    eventually grep -q "MetricsAddress: .*tried again" "$REMUDA_STATE/log/controller.log"
    sinfo >/dev/null
    kill "$pid"
    eventually answers
    PORT=$first run ! get livez
    sed -i '/^Metrics/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    closed() { ! get livez; }
    eventually closed
    [ ! -e "$REMUDA_STATE/metrics.sock" ]
    PORT=$first
    configured
    eventually answers
}

@test "readyz says 503 while the store is away" {
    mkdir disk
    mount -t tmpfs -o size=16m tmpfs disk 2>/dev/null || skip "no small file system can be mounted here"
    export REMUDA_STATE="$TOP/disk/state"
    remuda up -q --nodes 1 --cpus 2 --mem 2000 --name ready 3>&-
    PORT=$(free_port)
    configured
    eventually answers
    is_ready() { [ "$(status_of readyz)" = 200 ]; }
    is_away() {
        sbatch -n1 -o /dev/null --hold --wrap true >/dev/null 2>&1 &
        [ "$(status_of readyz)" = 503 ]
    }
    eventually is_ready
    cat /dev/zero >disk/fill 2>/dev/null || true
    eventually is_away
    [ "$(get livez)" = ok ]
    [ "$(value remuda_store_ready)" = 0 ]
    rm disk/fill
    eventually is_ready
    wait
    scancel -u "$(id -un)"
}

#!/usr/bin/env bats
# 1,000 short jobs of real daemons, as a Prometheus that scrapes often sees them.
bats_require_minimum_version 1.5.0
load ../cli/common

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
answers() { python3 "$BATS_TEST_DIRNAME/../cli/metrics_get.py" "$PORT" livez | grep -q ok || grep -q "built without" "$REMUDA_STATE/log/controller.log"; }

setup_file() {
    PORT=$(free_port)
    export PORT
    cluster --nodes 4 --cpus 16 --gres gpu:v100:16
    printf '%s\n' MetricsType=metrics/openmetrics "MetricsAddress=127.0.0.1:$PORT" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
}

@test "1,000 short jobs: each on each page from its start to its end, with its device, and on none afterwards" {
    eventually answers
    ! grep -q "built without" "$REMUDA_STATE/log/controller.log" || skip "this Remuda was built without libhttp-parser"
    python3 "$BATS_TEST_DIRNAME/metrics.py" "$PORT"
}

#!/usr/bin/env bats
# What the mail at a job's end says: what the job did, with a picture, the last lines of its output; of an array a digest. Through a sendmail that keeps
# each message, and a mail(1) that keeps each text.
bats_require_minimum_version 1.5.0
load common
load samples

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-mail-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" WORK="$TOP/work"
    mkdir -p "$TOP/mails" "$REMUDA_STATE" "$WORK"
    mkdir -m 777 "$TOP/home"
    chmod 755 "$TOP" # others' jobs write there
    cat > "$TOP/sendmail" <<S
#!/bin/sh
f=\$(mktemp $TOP/mails/new.XXXXXX)
cat > "\$f"
[ "\$SLURM_JOB_ID" ] && env | LC_ALL=C sort > "$TOP/env.\$SLURM_JOB_ID"
mv "\$f" "$TOP/mails/\$(sed -n 's/^Subject: Slurm \(Array Summary \|Array Task \)*Job_id=\([0-9]*\(_[0-9][0-9]*\)\{0,1\}\).*/\2/p' "\$f" | head -1).mail"
S
    chmod 755 "$TOP/sendmail"
    echo "MailProg=$TOP/sendmail
NodeName=$(hostname -s) CPUs=4 RealMemory=2000
PartitionName=main Nodes=ALL Default=YES" > "$REMUDA_STATE/remuda.conf"
    OF_ADMIN=secret LD_LIBRARY_PATH=/tmp/of-admin BASH_ENV=/tmp/of-admin remuda up -q 3>&-
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

mailed() { [ -s "$TOP/mails/$1.mail" ]; }
# mail_text JOB: the text of its mail, decoded as a mail program does; mail_parts JOB: the kinds of its parts; mail_picture JOB: the bytes of its PNG.
mail_read() {
    eventually mailed "$1"
    python3 -c '
import email, email.policy, sys
m = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
assert not m.defects and not [d for p in m.walk() for d in p.defects], m.defects
what = sys.argv[2]
if what == "parts":
    print(" ".join(p.get_content_type() for p in m.walk()))
elif what == "text":
    print(m.get_body().get_content())
else:
    sys.stdout.buffer.write(next(p for p in m.walk() if p.get_content_type() == "image/png").get_content())' "$TOP/mails/$1.mail" "$2"
}
mail_text() { mail_read "$1" text; }

has_cairo() { python3 -c 'import ctypes; ctypes.CDLL("libcairo.so.2")' 2>/dev/null; }

@test "a job that was sampled: its chart, what it did and what to do, the end of its output, and a picture where it can be drawn" {
    id=$(sbatch --parsable -c1 --mem=100 -J train --mail-type=END -o out.txt --wrap 'echo "epoch 1 of 2"; echo done; sleep 1.5; until [ -e go ]; do sleep 0.2; done')
    wait_state "$id" RUNNING
    samples guide "$id" 1
    touch go
    mail_text "$id" > said
    grep -q "^Job $id (train) of " said
    grep -q "^State: COMPLETED" said
    grep -qE "^It used [0-9]+ % of the time of its 1 CPU" said
    grep -q "util: mean 42 %" said
    LC_ALL=C grep -q $'\xe2[\xa0-\xa3]' said # Braille
    grep -q "^What it did, and what to do about it:" said
    tr '\n' ' ' < said | tr -s ' ' > flat
    grep -q "it had 2 phases: " flat
    grep -q "it fell to 3 % every 2 min 42 s for 20 s, 10 times: input stalls between epochs" flat
    grep -q "more loader workers" flat
    grep -A2 "^The end of its output, $WORK/out.txt:" said | tr '\n' ' ' | grep -qF "| epoch 1 of 2 | done"
    # wide enough for no mail program to break lines
    python3 -c 'import sys; sys.exit(any(len(l) > 79 for l in open("said", encoding="utf-8") if not l.startswith(("Output:", "Directory:", "The end"))))'
    if has_cairo; then
        [ "$(mail_read "$id" parts)" = "multipart/mixed text/plain image/png" ]
        mail_read "$id" picture > picture.png
        [ "$(head -c 4 picture.png | tail -c 3)" = PNG ]
        [ "$(stat -c %s picture.png)" -gt 4000 ]
        [ "$(stat -c %s "$TOP/mails/$id.mail")" -lt 600000 ]
    else
        [ "$(mail_read "$id" parts)" = text/plain ]
    fi
    # The same again, whenever it is wanted.
    remuda report --mail "$id" > again
    grep -q "it had 2 phases" again
    grep -qF "| epoch 1 of 2" again
    ! grep -q $'\f' again || false
}

@test "the end of the output: cleaned, bounded, of the error output as well" {
    cat > noisy <<'S'
#!/bin/bash
for i in $(seq 1 300); do echo "line $i"; done
printf '\033[31mred\033[0m \033]0;title\007bell\007 \033[2J\n'
printf ' 10%%\r 50%%\r100%%\n'
printf 'From: eve\n.\n~!touch /tmp/never\n'
printf 'x%.0s' $(seq 1 5000); echo
printf 'byte \xff here\n'
echo "Traceback: it broke" >&2
exit 3
S
    id=$(sbatch --parsable -c1 --mem=100 --mail-type=FAIL -o noisy.out -e noisy.err noisy)
    mail_text "$id" > said
    grep -q "^State: FAILED" said
    sed -n '/^The end of its output/,/^$/p' said > lines
    [ "$(grep -c '^| ' lines)" = 20 ]
    [ "$(grep -vc '^| ' lines)" -le 2 ]
    grep -qx '| red bell\\x07 ' lines || grep -q '^| red bell' lines
    grep -qx '| 100%' lines
    grep -qx '| From: eve' lines
    grep -qx '| \.' lines
    grep -qx '| ~!touch /tmp/never' lines
    grep -qE '^\| x{200} …$' lines
    grep -q '^| byte .*xff here$' lines
    grep -qx '| line 300' lines
    ! grep -qx '| line 1' lines || false
    ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" said || false
    grep -A1 "^The end of its error output, $WORK/noisy.err:" said | grep -qx '| Traceback: it broke'
}

@test "what is no file of the job's owner, or not of this run, is not in it" {
    mkfifo pipe
    (cat pipe > /dev/null) 3>&- &
    id=$(sbatch --parsable -c1 --mem=100 --mail-type=END -o pipe --wrap 'echo secret')
    mail_text "$id" > said
    ! grep -q "^| " said || false
    echo "of long ago" > old
    touch -d '2 days ago' old
    id=$(sbatch --parsable -c1 --mem=100 --mail-type=END --open-mode=append -o old --wrap 'true')
    mail_text "$id" > said
    grep -q "State: COMPLETED" said
    ! grep -q "long ago" said || false
    if [ "$(id -u)" = 0 ]; then
        echo "nobody's own" > theirs
        chown 65534 theirs
        id=$(sbatch --parsable -c1 --mem=100 --mail-type=END --open-mode=append -o theirs --wrap 'echo mine')
        mail_text "$id" > said
        ! grep -q "nobody's own" said || false
    fi
}

@test "what another user's job did is asked for, and its output read, as that user" {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$TOP/home" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
    cd "$TOP/home"
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    id=$(as_nobody sbatch --parsable -c1 --mem=100 --mail-type=END --mail-user=else@where -o mine.txt --wrap 'echo "I am $(id -un)"')
    mail_text "$id" > "$TOP/said"
    grep -qx "| I am nobody" "$TOP/said"
    grep -q "^To: else@where" "$TOP/mails/$id.mail"
    # What root may read and the job's owner may not: a file of his in a directory that he cannot enter.
    mkdir -m 700 "$TOP/closed"
    echo "of root's directory" > "$TOP/closed/file"
    chown nobody "$TOP/closed/file"
    id=$(as_nobody sbatch --parsable -c1 --mem=100 --mail-type=END -o mine2.txt --wrap "rm mine2.txt; ln -s $TOP/closed/file mine2.txt")
    mail_text "$id" > "$TOP/said"
    grep -q "State: COMPLETED" "$TOP/said"
    ! grep -q "of root's" "$TOP/said" || false
}

@test "an array is one mail with a digest; with ARRAY_TASKS each element has its own" {
    id=$(sbatch --parsable -c1 --mem=100 -J sweep --mail-type=END,FAIL --array=1-6 -o 'sweep-%a.out' --wrap 'echo "element $SLURM_ARRAY_TASK_ID"
        case $SLURM_ARRAY_TASK_ID in 2|5) exit 7;; 4) kill -9 $$;; 6) sleep 2;; esac')
    mail_text "$id" > said
    head -1 "$TOP/mails/$id.mail" > /dev/null
    grep -q "^6 elements: 3 COMPLETED, 3 FAILED$" said
    grep -qE "^They ran 00:00:0[0-9] in the median, 00:00:[0-9]+ at most \(element 6\)" said
    grep -qx "FAILED with exit code 7: 2,5" said
    grep -qx "FAILED by signal 9: 4" said
    grep -qx "Of element 2, the first that failed:" said
    grep -qx "| element 2" said
    [ "$(ls "$TOP/mails" | grep -c "^$id")" = 1 ]
    id=$(sbatch --parsable -c1 --mem=100 --mail-type=END,ARRAY_TASKS --array=1-2 -o 'each-%a.out' --wrap 'echo "I am $SLURM_ARRAY_TASK_ID"')
    mail_text "${id}_1" | grep -qx "| I am 1"
    mail_text "${id}_2" | grep -qx "| I am 2"
}

@test "an array that was cancelled before it began, and a job of which there is nothing to say" {
    id=$(sbatch --parsable --hold --mail-type=END --array=1-5 --wrap true)
    scancel "$id"
    mail_text "$id" | grep -qx "5 elements: 5 CANCELLED"
    id=$(sbatch --parsable --hold --mail-type=END --wrap true)
    scancel "$id"
    mail_text "$id" > said
    grep -q "State: CANCELLED" said
    ! grep -qE "It used|The end of" said || false
    [ "$(mail_read "$id" parts)" = text/plain ]
}

@test "--mail: what is asked wrongly is said" {
    run -2 remuda report --mail
    [[ "$output" == *"--mail is the text about one job"* ]]
    run -2 remuda report --mail=jpeg 1
    [[ "$output" == *'"jpeg" is neither'* ]]
    run ! remuda report --mail 99999
    [[ "$output" == *"no job 99999"* ]]
}

@test "MailProg has an environment that was made for it: of the job, plain, and nothing of who started the cluster" {
    name=$'a\nOF_USER=1\e[31m'
    id=$(OF_USER=1 sbatch --parsable -J "$name" --comment x --mail-type=END --mem=10 -o /dev/null --wrap 'exit 3')
    eventually test -s "$TOP/env.$id"
    cat "$TOP/env.$id"
    for has in "SLURM_JOB_ID=$id" 'SLURM_JOB_NAME=a\nOF_USER=1\x1b[31m' SLURM_JOB_STATE=FAILED SLURM_JOB_MAIL_TYPE=Ended "SLURM_JOB_USER=$(id -un)" SLURM_JOB_EXIT_CODE2=3:0 "HOME=$(getent passwd "$(id -u)" | cut -d: -f6)"; do
        grep -qxF "$has" "$TOP/env.$id"
    done
    run ! grep -E '^(OF_|LD_|BASH_ENV|REMUDA_|ASAN_)' "$TOP/env.$id"
    [ -z "$(grep -vE '^(SLURM_(CLUSTER_NAME|JOB_[A-Z0-9_]*|JOBID)|PATH|HOME|SHELL|USER|LOGNAME|LANG|TZ|PWD|OLDPWD|SHLVL|_)=' "$TOP/env.$id")" ]
}

@test "a MailProg that is called as mail(1) gets the text alone" {
    printf '#!/bin/sh\n{ echo "$@"; cat; } > "%s/$(echo "$2" | sed "s/.*Job_id=\\([0-9]*\\).*/\\1/").plain"\n' "$TOP/mails" > "$TOP/mailx"
    chmod 755 "$TOP/mailx"
    sed -i "s|^MailProg=.*|MailProg=$TOP/mailx|" "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(sbatch --parsable -c1 --mem=100 --mail-type=END -o plain.txt --wrap 'echo all of it; until [ -e went ]; do sleep 0.2; done')
    wait_state "$id" RUNNING
    samples guide "$id" 1
    touch went
    eventually test -s "$TOP/mails/$id.plain"
    eventually grep -q "all of it" "$TOP/mails/$id.plain"
    grep -q "it had 2 phases" "$TOP/mails/$id.plain"
    ! grep -q "Content-Type\|base64\|iVBOR" "$TOP/mails/$id.plain" || false
    LC_ALL=C grep -q $'\f' "$TOP/mails/$id.plain" && false || true
}

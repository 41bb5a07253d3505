# shellcheck shell=bash disable=SC2034,SC2119,SC2120
# What the scripts in this folder share. Sourced, never run.
#
# A suite is one data directory ($SATCHEL_DATA) and one port ($SATCHEL_PORT); nothing else is shared between suites,
# so any number of them run side by side on one machine. A running suite keeps the SATCHEL_* variables it was started
# with: the scripts read them from the process manager, so later commands need only SATCHEL_DATA.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Order of start and of every table; the gateway comes first because the services dial it.
SERVICES=(gateway catalog users bag payments mail push analytics crash cloud web)
REPLICAS_MAX=16
SWIFT_VERSION_MIN=6.2 # the dependencies' manifests demand it
BUILD_PACKAGES=(libzmq3-dev libsqlite3-dev libpq-dev libcurl4-openssl-dev libssl-dev libpcre2-dev libcrypt-dev zlib1g-dev pkg-config)
# python3 comes with supervisor, which is written in it; scripts/backup and scripts/restore need its standard library.
RUN_PACKAGES=(supervisor curl libvips-tools python3)
# A path of a unix socket has at most 107 bytes (sockaddr_un). The longest one here is the process manager's, which adds
# its pid while it opens the socket.
DATA_PATH_BYTES_MAX=$((107 - $(printf '/sockets/ctl.sock.4194304' | wc -c)))

# shellcheck source-path=SCRIPTDIR source=gateways.sh
. "$ROOT/scripts/lib/gateways.sh"

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
    warn "${0##*/}: $*"
    exit 1
}

# For --help in any place: prints the comment at the head of the script and ends. OWN_HELP=true: the script does it itself.
show_help() {
    local argument
    for argument in "$@"; do
        [[ $argument == -h || $argument == --help ]] || continue
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
    done
}
${OWN_HELP:-false} || show_help "$@"

# A free port on loopback, below the range from which the kernel gives ports to clients and below the ports of the Swift tests
# (Tests/Support/Suites/ReservedPort.swift), which run at the same time.
free_port() {
    local port
    for _ in {1..100}; do
        port=$((10000 + RANDOM % 10000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { say "$port" && return 0; }
    done
    die "no free port found"
}

# --- Debian packages and the build -----------------------------------------------------------------------------

# Installs the packages that are missing; does not touch apt when none is.
need_packages() {
    local package installed missing=() sudo=()
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null) || true # one is unknown
    for package in "$@"; do
        [[ $'\n'$installed$'\n' == *$'\n'"$package installed"$'\n'* ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "these Debian packages are missing, install them as root: ${missing[*]}"
        sudo=(sudo)
    fi
    say "Installing Debian packages: ${missing[*]}"
    "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update </dev/null
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 install "${missing[@]}" </dev/null >/dev/null
}

# Node, where there is cloud code and no other program for it is set.
need_node() {
    [[ -e ${SATCHEL_CLOUD_CODE:-$SATCHEL_DATA/cloud}/main.js && -z ${SATCHEL_CLOUD_NODE-} ]] || return 0
    command -v node >/dev/null || need_packages nodejs
}

need_swift() {
    local found
    found=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+(\.[0-9]+)*).*/\1/p' | head -n 1) || true
    [[ -z $found ]] || ! printf '%s\n' "$SWIFT_VERSION_MIN" "$found" | sort -CV || return 0
    die "${found:+Swift $found is too old; }Satchel needs a Swift toolchain of version $SWIFT_VERSION_MIN or newer on PATH:
  install the Debian 12 toolchain from https://www.swift.org/install/linux/ (swiftly does it too), put its usr/bin on
  PATH and run this again."
}

# One configuration for everything: release. SwiftPM shows its progress and is quick when nothing changed.
# Packages say themselves what may be inlined of them; that the compiler looks for more in each takes a third of the
# time of a first build, and what a debugger would want of them a tenth. For our own modules Package.swift turns the
# former on again, and as much of the latter as a stack trace needs. LLVM's linker comes with the toolchain and takes
# half the time of the other; one job more than there are processors fills the pauses of the others.
build() {
    local -a options=(-c release --jobs $(($(nproc) + 1)) -Xswiftc -disable-cmo -Xswiftc -gnone -Xswiftc -use-ld=lld)
    if [[ -t 1 ]]; then
        (cd "$ROOT" && swift build "${options[@]}" "$@" </dev/null) || return
    else
        (cd "$ROOT" && swift build "${options[@]}" "$@" </dev/null) 2>&1 | thin_progress || return
    fi
    link_services
}

# Gives the executable of all services each one's name. Earlier releases had an executable for each in their place.
link_services() {
    local service
    [[ -x $ROOT/.build/release/satchel ]] || return 0 # a first build of one tool
    for service in "${SERVICES[@]}"; do ln -sfn satchel "$ROOT/.build/release/$service"; done
}

# Builds the executables that scripts/up starts, without tests, benchmarks and attacks; Package.swift explains why that is
# another package. SwiftPM needs seconds to find nothing to do, and ten after a build of the other package: it runs only
# when a source, a dependency, the toolchain or an executable changed after the last build.
build_shop() {
    local built=$ROOT/.build/release/shop.built sources
    sources=$(shop_sources)
    # Also replaces an executable of an earlier release that was put back.
    link_services
    if [[ -e $built && $(head -n 1 "$built") == "$sources" ]] && shop_is_whole "$built" && has_dependencies "$built"; then
        return
    fi
    SATCHEL_SHOP_ONLY=1 build
    { printf '%s\n' "$sources" && dependencies; } >"$built"
}

# The commits of the dependencies that SwiftPM has settled on, a line each.
dependencies() { [[ ! -e $ROOT/Package.resolved ]] || sed -n '/"revision"/p' "$ROOT/Package.resolved"; }

# True when the dependencies listed in file $1, after its first line, are unchanged. The tests add and remove others.
has_dependencies() { ! grep -qvxFf <(dependencies) <(tail -n +2 "$1"); }

# One line that is another when a file that the shop is built of is added, removed or changed.
shop_sources() {
    {
        (cd "$ROOT" && find Package.swift Services Shared scripts/lib/setup -type f -printf '%p %s %T@\n' | LC_ALL=C sort)
        # The path of `swift` is not enough: a new toolchain may replace the old one there, and swiftly's path is its own.
        swift --version 2>/dev/null
        declare -f build link_services
    } | sha256sum
}

# True when every executable exists and is older than file $1: another build may have made a newer one.
shop_is_whole() {
    local service program
    for service in "${SERVICES[@]}" satchel-setup; do
        program=$ROOT/.build/release/$service
        [[ -x $program && ! $program -nt $1 ]] || return 1
    done
}

# Where it does not overwrite its line of progress, SwiftPM writes thousands of them: passes on one in 20 seconds.
thin_progress() {
    local line next=0
    while IFS= read -r line || [[ -n $line ]]; do
        if [[ $line =~ ^\[[0-9]+/[0-9]+\]\  ]]; then
            ((SECONDS >= next)) || continue
            next=$((SECONDS + 20))
        fi
        say "$line"
    done
}

# --- The suite -------------------------------------------------------------------------------------------------

# Fixes the SATCHEL_* variables the scripts need and, if the suite runs, takes them from it.
open_suite() {
    umask 077
    export SATCHEL_DATA SATCHEL_BIN SATCHEL_HOST SATCHEL_PORT SATCHEL_MOUNT SATCHEL_APP_ID
    SATCHEL_DATA=$(realpath -ms -- "${SATCHEL_DATA:-$ROOT/data}")
    (($(printf %s "$SATCHEL_DATA" | wc -c) <= DATA_PATH_BYTES_MAX)) ||
        die "SATCHEL_DATA is too long: unix sockets below it allow at most $DATA_PATH_BYTES_MAX bytes: $SATCHEL_DATA"
    adopt_running
    SATCHEL_BIN=$(realpath -ms -- "${SATCHEL_BIN:-$ROOT/.build/release}")
    # The process manager expands % and globs in the paths of its configuration.
    [[ $SATCHEL_DATA$SATCHEL_BIN != *[]%\*?[\"\'\\$'\n']* ]] ||
        die "SATCHEL_DATA and SATCHEL_BIN must not contain quotes, backslashes or any of % * ? [ ]"
    : "${SATCHEL_HOST:=127.0.0.1}" "${SATCHEL_PORT:=1337}" "${SATCHEL_MOUNT:=/parse}" "${SATCHEL_APP_ID:=satchel}"
    [[ $SATCHEL_PORT =~ ^[0-9]{1,5}$ ]] || die "SATCHEL_PORT is not a port: $SATCHEL_PORT"
    # Where the scripts reach the gateway; a wildcard address is reached by loopback.
    LOCAL_HOST=$SATCHEL_HOST
    case $LOCAL_HOST in 0.0.0.0 | '*') LOCAL_HOST=127.0.0.1 ;; ::) LOCAL_HOST=::1 ;; esac
    URL="http://$([[ $LOCAL_HOST == *:* ]] && echo "[$LOCAL_HOST]" || echo "$LOCAL_HOST"):$SATCHEL_PORT/${SATCHEL_MOUNT#/}"
}

# Creates the folders of the data directory and takes its lock until the script ends, so that two scripts never
# change one suite at once. Children that outlive the script must not inherit descriptor 9.
lock_suite() {
    mkdir -p "$SATCHEL_DATA"/{logs,sockets,supervisor}
    lock_data
}

lock_data() {
    exec 9>"$SATCHEL_DATA/scripts.lock"
    flock -w 120 9 || die "another script has been changing this suite for two minutes: $SATCHEL_DATA"
}

# The pid of the suite's process manager, or failure. A stale pid file (power cut, kill -9) is not believed.
manager_pid() {
    local pid
    read -r pid 2>/dev/null <"$SATCHEL_DATA/supervisord.pid" || return 1
    [[ -r /proc/$pid/cmdline ]] && grep -qzxF -- "$SATCHEL_DATA/supervisord.conf" "/proc/$pid/cmdline" || return 1
    say "$pid"
}

# After the manager was killed, the settings are read from the services that it left running.
adopt_running() {
    local pid line name kept=''
    pid=$(manager_pid || stray_pids | sed -n 1p) || true
    [[ -n $pid ]] || return 0
    while IFS= read -r -d '' line; do
        [[ $line == SATCHEL_*=* ]] || continue
        name=${line%%=*}
        [[ $name =~ ^[A-Z_]+$ && ! $name =~ ^SATCHEL_(REPLICA|LISTEN|DRAIN_MILLISECONDS)$ ]] || continue
        [[ -z ${!name-} || $name == SATCHEL_DATA || ${!name} == "${line#*=}" ]] || kept+=" $name"
        export "$name=${line#*=}"
    done 2>/dev/null <"/proc/$pid/environ" || return 0
    [[ -z $kept ]] || warn "The suite is running and keeps its own settings of:$kept"
}

# Ends when a SATCHEL_* variable is none of docs/reference/settings.md: a misspelt one would have no effect.
check_setting_names() { /usr/bin/python3 -B "$ROOT/scripts/lib/settings.py" "$ROOT/docs/reference/settings.md" || exit 1; }

need_running() { manager_pid >/dev/null || die "the suite is not running ($SATCHEL_DATA); start it with scripts/up"; }

ctl() { /usr/bin/supervisorctl -c "$SATCHEL_DATA/supervisord.conf" "$@" 9>&-; }

# Makes the manager look at its children now. It does so once a second, or after any request: this is the cheapest.
# Fails when there is no manager.
nudge() { curl -s -o /dev/null --max-time 1 --unix-socket "$SATCHEL_DATA/sockets/ctl.sock" http://localhost/; }

# ctl that waits for processes to end or to start, in as little time as they take. Without arguments it reads commands.
prompt_ctl() {
    local nudger status=0
    while nudge; do sleep 0.05; done 9>&- &
    nudger=$!
    ctl "$@" || status=$?
    # Whoever starts a script may have SIGTERM ignored, which its processes inherit.
    kill -KILL "$nudger" 2>/dev/null || true
    wait "$nudger" 2>/dev/null || true
    return "$status"
}

# Pids of service processes of this suite that survived a killed process manager.
stray_pids() {
    local file
    grep -lzxF -- "SATCHEL_DATA=$SATCHEL_DATA" /proc/[0-9]*/environ 2>/dev/null | while read -r file; do
        ! grep -qzxE 'SUPERVISOR_PROCESS_NAME=[a-z]+-[0-9]+' "$file" 2>/dev/null || say "${file//[^0-9]/}"
    done
}

stop_strays() {
    local pids pid
    mapfile -t pids < <(stray_pids)
    ((${#pids[@]})) || return 0
    say "Stopping ${#pids[@]} processes that a previous run left behind"
    kill -TERM "${pids[@]}" 2>/dev/null || true
    for pid in "${pids[@]}"; do
        for _ in {1..100}; do grep -q . "/proc/$pid/cmdline" 2>/dev/null || continue 2; sleep 0.1; done
        kill -KILL "$pid" 2>/dev/null || true
    done
}

# Services whose move was interrupted: the script that made the mark holds its lock for as long as it lives.
interrupted_moves() {
    local mark name
    for mark in "$SATCHEL_DATA"/*.moving; do
        name=${mark##*/}
        if [[ -e $mark ]] && flock -n "$mark" true; then say "${name%.moving}"; fi
    done
}

# Starts programs that an interrupted script stopped.
start_stopped() {
    local states
    states=$(ctl status) || true
    [[ ! $states =~ [[:space:]](STOPPED|EXITED|FATAL)[[:space:]] ]] || prompt_ctl start all >/dev/null || true
}

# --- Scale -----------------------------------------------------------------------------------------------------

# Replicas of a service beyond its scale, while scripts/restart works on it; never stored.
declare -A EXTRA_REPLICAS=()

# The wanted number of replicas of service $1.
replicas_of() {
    local line count=1 file=${SCALE_FILE:-$SATCHEL_DATA/scale}
    if [[ -e $file ]]; then
        while IFS= read -r line; do
            [[ ! $line =~ ^$1=([0-9]+)$ ]] || count=${BASH_REMATCH[1]}
        done <"$file"
    fi
    say "$((count + ${EXTRA_REPLICAS[$1]:-0}))"
}

# Checks and stores `catalog=2,bag=3`; services that are not named keep their number.
store_scale() {
    local pair name count pairs lines service
    local -A wanted=()
    IFS=, read -ra pairs <<<"$1"
    ((${#pairs[@]})) || die "nothing to scale: write SERVICE=COUNT[,SERVICE=COUNT]"
    for pair in "${pairs[@]}"; do
        name=${pair%%=*} count=${pair#*=}
        [[ " ${SERVICES[*]} " == *" $name "* && -n $name ]] || die "no such service: '$name' (known: ${SERVICES[*]:1})"
        [[ $pair == *=* && $count =~ ^[0-9]{1,3}$ ]] || die "write $name=COUNT, not '$pair'"
        count=$((10#$count))
        [[ $name != gateway ]] || ((count >= 1 && count <= GATEWAYS_MAX)) ||
            die "gateway=$count: there are 1 to $GATEWAYS_MAX gateways"
        ((count >= 1 && count <= REPLICAS_MAX)) || die "$name=$count: a service has 1 to $REPLICAS_MAX replicas"
        wanted[$name]=$count
    done
    lines=''
    for service in "${SERVICES[@]}"; do lines+="$service=${wanted[$service]:-$(replicas_of "$service")}"$'\n'; done
    printf %s "$lines" >"$SATCHEL_DATA/scale.new"
    # Before it is in force: a scale that cannot run would stop the next start.
    (SCALE_FILE=$SATCHEL_DATA/scale.new need_balancer) || { rm -f -- "$SATCHEL_DATA/scale.new" && exit 1; }
    mv -- "$SATCHEL_DATA/scale.new" "$SATCHEL_DATA/scale"
}

wanted_replicas() {
    local service number
    for service in "${SERVICES[@]}"; do
        for ((number = 1; number <= $(replicas_of "$service"); number++)); do say "$service-$number"; done
    done
    ! has_balancer || say balancer-1
    [[ ${SATCHEL_WATCHDOG-} == off ]] || say watchdog-1
}

# With SATCHEL_SYSLOG, the option by which the manager sends a program's log to syslog too.
syslog_option() {
    case ${SATCHEL_SYSLOG:-false} in
        true | yes | 1) say 'stdout_syslog = true' ;;
        false | no | 0) ;;
        *) die "SATCHEL_SYSLOG is true or false, not '$SATCHEL_SYSLOG'" ;;
    esac
}

# Makes the program files match the scale. Existing ones are left as they are: the manager restarts a replica whose
# file changed. Only a gateway's is another one where the first balancer comes or the last one goes.
write_programs() {
    local replica service file priority besides
    local -A wanted=()
    while read -r replica; do
        wanted[$replica]=1
        if [[ $replica == balancer-1 || $replica == watchdog-1 ]]; then
            file=$SATCHEL_DATA/supervisor/$replica.conf
            [[ -e $file ]] || { cat "$ROOT/compose/${replica%-1}.conf" && syslog_option; } >"$file"
            [[ $replica != watchdog-1 ]] || cp -- "$ROOT/compose/watchdog.py" "$SATCHEL_DATA/watchdog.py"
            continue
        fi
        service=${replica%-*} priority=20
        [[ $service != gateway ]] || priority=10
        file=$SATCHEL_DATA/supervisor/$replica.conf
        besides=$(environment_of "$replica")
        if [[ -e $file ]]; then
            [[ $service == gateway ]] || continue
            ! grep -qxF -- "environment = SATCHEL_REPLICA=\"$replica\"$besides" "$file" || continue
        fi
        {
            sed "s/@SERVICE@/$service/g; s/@REPLICA@/$replica/g; s/@PRIORITY@/$priority/g; s|@BESIDES@|$besides|" \
                "$ROOT/compose/program.conf"
            syslog_option
        } >"$file"
    done < <(wanted_replicas)
    for file in "$SATCHEL_DATA"/supervisor/*.conf; do
        replica=${file##*/}
        [[ -n ${wanted[${replica%.conf}]-} ]] || rm -f -- "$file"
    done
}

# --- Health ----------------------------------------------------------------------------------------------------

# Prints the body of /health of gateway $1 (default: the first); fails unless the status is 200. Services that are
# not essential may still be missing in it.
health() {
    local answer
    answer=$(ask_gateway "${1:-1}" /health -w '\n%{http_code}' 2>/dev/null) || return 1
    say "${answer%$'\n'*}"
    [[ ${answer##*$'\n'} == 200 ]]
}

# What `cloud` says in /health until its functions and triggers are called (CodeRegistration.loading).
LOADING_CODE='The cloud code is being loaded.'

# Names what a /health body lacks: `catalog` without a writer, `bag 1/2` with replicas still to come.
missing_services() {
    local body=$1 service part wanted lacks=''
    [[ -n $body ]] || { say gateway && return 0; }
    for service in "${SERVICES[@]:1}"; do
        # The gateway of an earlier build does not know a service that is new; it is the last to be restarted.
        [[ $body != *'"services"'* || $body == *"\"$service\""* ]] || continue
        part=''
        [[ $body =~ \"$service\"[[:space:]]*:[[:space:]]*(\{[^}]*\}) ]] && part=${BASH_REMATCH[1]}
        if ! [[ $part =~ \"writer\"[[:space:]]*:[[:space:]]*true ]]; then
            lacks+="${lacks:+, }$service"
            continue
        fi
        wanted=$(replicas_of "$service")
        if [[ $part =~ \"replicas\"[[:space:]]*:[[:space:]]*([0-9]+) ]] && ((BASH_REMATCH[1] < wanted)); then
            lacks+="${lacks:+, }$service ${BASH_REMATCH[1]}/$wanted"
        elif [[ $part == *"$LOADING_CODE"* ]]; then
            lacks+="${lacks:+, }$service (its code)"
        fi
    done
    [[ -z $lacks ]] || say "$lacks"
}

# What a /health body ($2) says of service $1; nothing when it does not name it.
state_of() { [[ ! $2 =~ \"$1\"[[:space:]]*:[[:space:]]*(\{[^}]*\}) ]] || say "${BASH_REMATCH[1]}"; }

# The fault in what a /health body says of a service ($1); nothing when there is none.
problem_in() { [[ ! $1 =~ \"problem\"[[:space:]]*:[[:space:]]*\"([^\"]+)\" ]] || say "${BASH_REMATCH[1]}"; }

# The status with which a process ends that an operator must help: a setting, a file or a database is refused (EX_CONFIG of
# sysexits.h, `StartupProblem.exitStatus`).
REFUSED_STATUS=78

# The bytes of the process manager's log so far.
manager_log_size() { stat -c %s "$SATCHEL_DATA/logs/supervisord.log" 2>/dev/null || say 0; }

# Prints the first replica that refused to start after byte $1 of the process manager's log; fails when there is none.
refused_since() {
    local line
    line=$(tail -c +"$(($1 + 1))" "$SATCHEL_DATA/logs/supervisord.log" 2>/dev/null | grep -am 1 "exit status $REFUSED_STATUS;") ||
        return 1
    line=${line#*exited: }
    say "${line%% *}"
}

# Waits until every service has a writer and all its replicas, $1 seconds at most. Prints the missing ones meanwhile.
# Returns 2 as soon as a process refuses to start, after byte $2 of the process manager's log.
wait_healthy() {
    local missing shown='' started=$SECONDS replica logged=${2:-$(manager_log_size)}
    while :; do
        if replica=$(refused_since "$logged"); then
            warn "$replica refuses to start:"
            tail -n 1 "$SATCHEL_DATA/logs/$replica.log" >&2
            return 2
        fi
        missing=$(missing_anywhere)
        [[ -z $missing ]] && health >/dev/null && return 0
        if ((SECONDS - started >= $1)); then
            warn "Not healthy after $1 seconds; missing: ${missing:-nothing, but the gateway does not answer 200}"
            return 1
        fi
        if ((SECONDS > started)) && [[ $missing != "$shown" ]]; then
            say "  waiting for ${missing:-the gateway}"
            shown=$missing
        fi
        nudge || true
        sleep 0.1
    done
}

# The last lines of the logs of the replicas whose services are missing in /health.
show_failed_logs() {
    local missing file name
    missing=$(missing_anywhere) || true
    for file in "$SATCHEL_DATA"/logs/*.log; do
        name=${file##*/}
        [[ $name == supervisord.log || $missing == *"${name%-*}"* ]] || continue
        warn "--- $file"
        tail -n 15 "$file" >&2 || true
    done
}

# The master key of the suite, for the tools that set it up.
load_master_key() {
    export SATCHEL_MASTER_KEY
    [[ -n ${SATCHEL_MASTER_KEY-} ]] || SATCHEL_MASTER_KEY=$(cat -- "$SATCHEL_DATA/master.key" 2>/dev/null) ||
        die "there is no master key: neither SATCHEL_MASTER_KEY nor $SATCHEL_DATA/master.key"
}

# The credentials of a request by the master key, for `curl -H @-`: a process list shows arguments.
master_headers() { printf 'X-Parse-Application-Id: %s\nX-Parse-Master-Key: %s\n' "$SATCHEL_APP_ID" "$SATCHEL_MASTER_KEY"; }

# --- Backups ---------------------------------------------------------------------------------------------------

# Runs a command of scripts/lib/backup, with the release of this checkout.
backups() {
    local release
    release=$(sed -nE 's/^public let satchelRelease = "(.*)"$/\1/p' "$ROOT/Shared/ProcessKit/ProcessStart.swift")
    /usr/bin/python3 -B "$ROOT/scripts/lib/backup" --release "$release" "$@" 9>&-
}

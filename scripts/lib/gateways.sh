# shellcheck shell=bash disable=SC2034
# Several gateways of one host, and the balancer before them. Sourced by common.sh, never run.
#
# A single gateway listens on the port. With several, each listens on a unix socket and HAProxy (program `balancer-1`) on
# the port. Socket paths are short, because HAProxy allows 10 bytes fewer than the system.

GATEWAYS_MAX=8
HAPROXY=/usr/sbin/haproxy

gateway_count() { replicas_of gateway; }
has_balancer() { (($(gateway_count) > 1)); }

# Checks before anything is changed that there can be several gateways.
need_balancer() {
    has_balancer || return 0
    [[ -x $HAPROXY ]] || (need_packages haproxy && [[ -x $HAPROXY ]]) ||
        die "several gateways need HAProxy before them: install the Debian package haproxy, or scale gateway=1"
    local listed
    # An operator who sets SATCHEL_BUS lists the gateways there.
    [[ -z ${SATCHEL_BUS-} || $SATCHEL_BUS == file:* ]] || {
        listed=$(tr ',' '\n' <<<"$SATCHEL_BUS" | grep -c .)
        ((listed >= $(gateway_count))) ||
            die "SATCHEL_BUS names $listed endpoints for $(gateway_count) gateways; name one for each, with commas between them"
    }
}

# What program $1 has in its environment besides its name.
environment_of() {
    [[ $1 == gateway-* ]] && has_balancer || return 0
    # The balancer asks every 0.3 s and believes the second refusal.
    printf ',SATCHEL_LISTEN="%%(ENV_SATCHEL_DATA)s/sockets/gw-%s",SATCHEL_DRAIN_MILLISECONDS="1500"' "${1##*-}"
}

# The endpoints of $1 gateways, which services dial, where there are several; they look at the file once a second.
write_gateways() {
    local file=$SATCHEL_DATA/sockets/gateways number suffix=''
    (($1 > 1)) || { rm -f -- "$file" && return; }
    for ((number = 1; number <= $1; number++)); do
        say "ipc://$SATCHEL_DATA/sockets/bus$suffix.ipc"
        suffix=-$((number + 1))
    done >"$file.new"
    mv -- "$file.new" "$file"
}

# Writes the configuration of a balancer before $1 gateways, and makes a running balancer reload a changed one.
write_balancer() {
    local file=$SATCHEL_DATA/haproxy.cfg
    (($1 > 1)) || { rm -f -- "$file" "$SATCHEL_DATA"/{balancer.start,sockets/lb,sockets/gw-*} && return; }
    balancer_configuration "$1" >"$file.new"
    "$HAPROXY" -c -q -f "$file.new" || die "HAProxy refuses its configuration $file.new"
    # In the shell's own words, so that the manager need not know its port.
    cat >"$SATCHEL_DATA/balancer.start" <<END
while (exec 3<>"/dev/tcp/$LOCAL_HOST/$SATCHEL_PORT") 2>/dev/null; do sleep 0.02; done
exec $HAPROXY -W -f "\$SATCHEL_DATA/haproxy.cfg"
END
    if cmp -s -- "$file.new" "$file"; then
        rm -- "$file.new"
        return
    fi
    mv -- "$file.new" "$file"
    if manager_pid >/dev/null && [[ $(ctl status balancer-1) =~ RUNNING ]]; then
        ctl signal USR2 balancer-1 >/dev/null
    fi
}

balancer_configuration() {
    local proxies=${SATCHEL_TRUSTED_PROXIES-} line number name network gateways='' standing='' trusted='' host=$SATCHEL_HOST connections per_address per_wide
    [[ $host != '*' ]] || host=0.0.0.0
    [[ $host != *:* ]] || host="ipv6@[$host]"
    for ((number = 1; number <= $1; number++)); do
        name=gateway-$number
        gateways+="    server $name \"unix@$SATCHEL_DATA/sockets/gw-$number\""$'\n'
        standing+="$name %[srv_is_up(gateways/$name)]\\n"
    done
    # Proxies of the operator's own have many clients.
    for network in ${proxies//,/ }; do trusted+=" $network"; done
    [[ -z $trusted ]] || trusted=" unless { src$trusted }"
    connections=$((${SATCHEL_CONNECTIONS_MAX:-4096} * $1))
    per_address=${SATCHEL_CONNECTIONS_PER_ADDRESS:-$((connections / 4))}
    # As in NetworkAmounts: four times as much, up to three quarters of all.
    per_wide=$((connections * 3 / 4))
    ((per_wide <= per_address * 4)) || per_wide=$((per_address * 4))
    ((per_wide >= per_address)) || per_wide=$per_address
    while IFS= read -r line; do
        line=${line//@BIND@/"$host:$SATCHEL_PORT"}
        line=${line//@MOUNT@/"/${SATCHEL_MOUNT#/}"}
        line=${line//@DATA@/"$SATCHEL_DATA"}
        line=${line//@CONNECTIONS@/"$connections"}
        line=${line//@PER_ADDRESS@/"$per_address"}
        line=${line//@PER_WIDE@/"$per_wide"}
        line=${line//@CROWDED@/"$((connections - connections / 8))"}
        line=${line//@SLOW@/"${SATCHEL_SLOW_REQUEST_SECONDS:-15}"}
        line=${line//@TRUSTED@/"$trusted"}
        line=${line//@STANDING@/"$standing"}
        say "${line//@GATEWAYS@/"$gateways"}"
    done <"$ROOT/compose/haproxy.cfg"
}

# Brings the programs that run in line with the scale.
change_programs() {
    local before now most
    before=$(find "$SATCHEL_DATA/supervisor" -name 'gateway-*.conf' | wc -l)
    now=$(gateway_count)
    most=$((before > now ? before : now))
    # Services dial a gateway before it is asked for anything, and leave one when it has stopped.
    write_gateways "$most"
    ((now == 1)) || write_balancer "$most"
    write_programs
    if ((before == 1 && now > 1)); then
        balancer_takes_port
    elif ((before > 1 && now == 1)) && [[ $(ctl status balancer-1) =~ RUNNING ]]; then
        gateway_takes_port
    fi
    ctl update
    write_gateways "$now"
    write_balancer "$now"
}

# From one gateway to several: all but the first join, then the balancer waits for the port that the first one gives back
# as soon as it stops. Refused are connections of the moment in between.
balancer_takes_port() {
    local joining number
    mapfile -t joining < <(wanted_replicas | grep -vxE 'gateway-1|balancer-1')
    ctl update "${joining[@]}"
    for ((number = 2; number <= $(gateway_count); number++)); do
        await_gateway "$number" 30 ||
            die "gateway-$number did not join; gateway-1 goes on as before: scripts/logs gateway-$number, scripts/scale gateway=1"
    done
    ctl update balancer-1
    ctl update gateway-1
}

# From several to one: the first stops while the others go on, and has the port from the moment at which the balancer
# takes no connection any more. Refused are connections until it listens.
gateway_takes_port() {
    local stopping
    prompt_ctl stop gateway-1 >/dev/null || true
    prompt_ctl stop balancer-1 >/dev/null &
    stopping=$!
    for _ in {1..250}; do
        (exec 3<>"/dev/tcp/$LOCAL_HOST/$SATCHEL_PORT") 2>/dev/null || break
        sleep 0.02
    done
    ctl update gateway-1
    wait "$stopping" || true
}

# Asks gateway $1 for path $2, past the balancer; further arguments are curl's.
ask_gateway() {
    local number=$1 path=$2
    shift 2
    if has_balancer; then
        # The gateway trusts the client address when the sending process runs as the same user.
        curl -sS --noproxy '*' --max-time 2 --unix-socket "$SATCHEL_DATA/sockets/gw-$number" \
            -H 'X-Forwarded-For: 127.0.0.1' "$@" "http://localhost/${SATCHEL_MOUNT#/}$path"
    else
        curl -sS --noproxy '*' --max-time 2 "$@" "$URL$path"
    fi
}

# Whether the balancer sends requests to gateway $1; without a balancer they come by themselves.
is_balanced() {
    ! has_balancer || curl -s --noproxy '*' --max-time 2 --unix-socket "$SATCHEL_DATA/sockets/lb" \
        http://localhost/ 2>/dev/null | grep -qx "gateway-$1 1"
}

# What the gateways lack, each by its own account: the words of missing_services, and gateways that get no requests.
missing_anywhere() {
    local number missing count
    count=$(gateway_count)
    for ((number = 1; number <= count; number++)); do
        missing=$(missing_services "$(health "$number")")
        if ((count > 1)); then
            [[ $missing != gateway ]] || missing=gateway-$number
            [[ -n $missing ]] || is_balanced "$number" || missing="gateway-$number behind the balancer"
        fi
        [[ -z $missing ]] || { say "$missing" && return; }
    done
}

# Waits until gateway $1 has all services, $2 seconds at most.
await_gateway() {
    local end=$((SECONDS + $2))
    until [[ -z $(missing_services "$(health "$1")") ]]; do
        ((SECONDS < end)) || return 1
        nudge || true
        sleep 0.05
    done
}

# Waits until the balancer sends requests to gateway $1, $2 seconds at most.
await_balanced() {
    local end=$((SECONDS + $2))
    until is_balanced "$1"; do
        ((SECONDS < end)) || return 1
        nudge || true
        sleep 0.05
    done
}

# PostgreSQL servers under Patroni, and the etcd that they agree by, until the standard input ends. A node runs while there
# is a file run<node> in the folder; without it all of the node is killed at once, as a host that loses its power.
#
# Usage: patroni_cluster.sh FOLDER CHECKOUT ETCD_PORT ETCD_PEER_PORT (POSTGRESQL_PORT PATRONI_PORT)...
# shellcheck shell=bash
folder=$1 checkout=$2
shift 2
ports=("$@") count=$((($# - 2) / 2)) as=() nodes=()
cd "$folder" || exit
# PostgreSQL refuses to be root.
if ((EUID == 0)); then
    chown postgres: "$folder"
    as=(setpriv --reuid postgres --regid postgres --init-groups --)
fi
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

etcd=http://127.0.0.1:${ports[0]} peer=http://127.0.0.1:${ports[1]}
"${as[@]}" etcd --name etcd --data-dir "$folder/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "etcd=$peer" --logger zap \
    </dev/null >"$folder/etcd.log" 2>&1 &
etcd_process=$!

# The example for operators, and what a test has otherwise.
install -d config
cp -- "$checkout/compose/patroni/patroni.yml" config/1.yml
cat >config/2.yml <<EOF
postgresql:
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
  parameters: {unix_socket_directories: '$folder', fsync: 'off', shared_buffers: 32MB, max_connections: 200}
EOF

begin() {
    local sql=127.0.0.1:${ports[2 * $1]} rest=127.0.0.1:${ports[2 * $1 + 1]}
    PATRONI_NAME=node$1 PATRONI_ETCD3_HOSTS=127.0.0.1:${ports[0]} \
        PATRONI_RESTAPI_LISTEN=$rest PATRONI_RESTAPI_CONNECT_ADDRESS=$rest \
        PATRONI_POSTGRESQL_LISTEN=$sql PATRONI_POSTGRESQL_CONNECT_ADDRESS=$sql \
        PATRONI_POSTGRESQL_DATA_DIR=$folder/node$1 PATRONI_POSTGRESQL_BIN_DIR=$bin \
        PATRONI_POSTGRESQL_PGPASS=$folder/pgpass$1 \
        PATRONI_SUPERUSER_USERNAME=postgres PATRONI_SUPERUSER_PASSWORD=postgres \
        PATRONI_REPLICATION_USERNAME=replicator PATRONI_REPLICATION_PASSWORD=replicator \
        PATRONI_REWIND_USERNAME=rewinder PATRONI_REWIND_PASSWORD=rewinder \
        "${as[@]}" patroni "$folder/config" </dev/null >>"$folder/node$1.log" 2>&1 &
    nodes[$1]=$!
}

# The server before its children, or it would begin to recover from their end.
end() {
    local server all=()
    server=$(head -n 1 "$folder/node$1/postmaster.pid" 2>/dev/null)
    if [[ -n $server && $(readlink "/proc/$server/cwd") == "$folder/node$1" ]]; then
        mapfile -t all < <(echo "$server" && pgrep -P "$server")
    fi
    kill -KILL "${nodes[$1]}" "${all[@]}" 2>/dev/null
    wait "${nodes[$1]}" 2>/dev/null
    nodes[$1]=
}

while read -r -t 0.1 _; (($? > 128)); do
    for ((node = 1; node <= count; node++)); do
        if [[ -e $folder/run$node ]]; then
            [[ -n ${nodes[node]-} ]] || begin $node
        elif [[ -n ${nodes[node]-} ]]; then
            end $node
        fi
    done
done

for ((node = 1; node <= count; node++)); do [[ -z ${nodes[node]-} ]] || end $node; done
kill -KILL "$etcd_process"
wait
# A server that is killed leaves a piece of shared memory, whose number is in its file.
for ((node = 1; node <= count; node++)); do
    memory=$(sed -n 7p "$folder/node$node/postmaster.pid" 2>/dev/null | awk '{ print $2 }')
    [[ -z $memory ]] || ipcrm -m "$memory"
done
# What was killed may write a last time.
rm -rf -- "$folder" 2>/dev/null || { sleep 1 && rm -rf -- "$folder"; }

# Runs PostgreSQL servers under Patroni, and their etcd, until the standard input ends. A node runs while the file
# run<node> exists in the folder; without it, all processes of the node are killed at once, like a power failure. Its
# etcd continues.
#
# Usage: patroni_cluster.sh FOLDER CHECKOUT NETWORK NODE...
#        NETWORK  network whose connections are trusted
#        NODE     NAMESPACE,ADDRESS,POSTGRESQL_PORT,PATRONI_PORT[,ETCD_PORT,ETCD_PEER_PORT]
#                 NAMESPACE is the node's network namespace, empty for the current one. One node has an etcd, or
#                 three have.
# shellcheck shell=bash
folder=$1 checkout=$2 network=$3
shift 3
count=$# as=() nodes=() namespaces=() sql=() rest=() clients=() peers=() cluster=''
cd "$folder" || exit
# PostgreSQL refuses to run as root.
if ((EUID == 0)); then
    chown postgres: "$folder"
    as=(setpriv --reuid postgres --regid postgres --init-groups --)
fi
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

for ((node = 1; node <= count; node++)); do
    IFS=, read -r namespace address sql_port rest_port etcd_port peer_port <<<"${!node}"
    namespaces[node]=$namespace sql[node]=$address:$sql_port rest[node]=$address:$rest_port
    [[ -n $etcd_port ]] || continue
    clients[node]=$address:$etcd_port peers[node]=http://$address:$peer_port
    cluster+=${cluster:+,}etcd$node=${peers[node]}
done

# Runs a command on a node's host, replacing the shell.
on() {
    local within=()
    [[ -z ${namespaces[$1]} ]] || within=(ip netns exec "${namespaces[$1]}")
    shift
    exec "${within[@]}" "${as[@]}" "$@" </dev/null
}

etcd_processes=()
for node in "${!clients[@]}"; do
    on "$node" etcd --name "etcd$node" --data-dir "$folder/etcd$node" --logger zap \
        --listen-client-urls "http://${clients[node]}" --advertise-client-urls "http://${clients[node]}" \
        --listen-peer-urls "${peers[node]}" --initial-advertise-peer-urls "${peers[node]}" \
        --initial-cluster "$cluster" >"$folder/etcd$node.log" 2>&1 &
    etcd_processes+=($!)
done

# The operators' example, and the settings that differ in tests. A leader that is cut off ends when its standbys have
# been silent for wal_sender_timeout: a minute by default.
install -d config
cp -- "$checkout/compose/patroni/patroni.yml" config/1.yml
cat >config/2.yml <<END
postgresql:
  pg_hba:
    - local all all trust
    - host all all $network trust
    - host replication all $network trust
  parameters:
    unix_socket_directories: ''
    fsync: 'off'
    shared_buffers: 32MB
    max_connections: 200
    wal_sender_timeout: 10s
END

# If there are several etcds, a node does not use the one of its own host. Cut off together with the node, that etcd
# keeps its old state. When the host is back, Patroni before 3.0.3 would trust that state and take the lead from the
# current leader. Patroni would also learn its address from the other etcds, so it must treat those as proxies.
begin() {
    local node hosts='' proxies=true
    ((${#clients[@]} > 1)) || proxies=false
    for node in "${!clients[@]}"; do
        ((node == $1 && ${#clients[@]} > 1)) || hosts+=${hosts:+,}${clients[node]}
    done
    PATRONI_NAME=node$1 PATRONI_ETCD3_HOSTS=$hosts PATRONI_ETCD3_USE_PROXIES=$proxies \
        PATRONI_RESTAPI_LISTEN=${rest[$1]} PATRONI_RESTAPI_CONNECT_ADDRESS=${rest[$1]} \
        PATRONI_POSTGRESQL_LISTEN=${sql[$1]} PATRONI_POSTGRESQL_CONNECT_ADDRESS=${sql[$1]} \
        PATRONI_POSTGRESQL_DATA_DIR=$folder/node$1 PATRONI_POSTGRESQL_BIN_DIR=$bin \
        PATRONI_POSTGRESQL_PGPASS=$folder/pgpass$1 \
        PATRONI_SUPERUSER_USERNAME=postgres PATRONI_SUPERUSER_PASSWORD=postgres \
        PATRONI_REPLICATION_USERNAME=replicator PATRONI_REPLICATION_PASSWORD=replicator \
        PATRONI_REWIND_USERNAME=rewinder PATRONI_REWIND_PASSWORD=rewinder \
        on "$1" patroni "$folder/config" >>"$folder/node$1.log" 2>&1 &
    nodes[$1]=$!
}

# Kills the server before its children, because it would recover from the end of a child.
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

# Patroni ends if it finds no etcd at its start, so it is restarted.
while read -r -t 0.1 _; (($? > 128)); do
    for ((node = 1; node <= count; node++)); do
        if [[ -e $folder/run$node ]]; then
            kill -0 "${nodes[node]-}" 2>/dev/null || begin $node
        elif [[ -n ${nodes[node]-} ]]; then
            end $node
        fi
    done
done

for ((node = 1; node <= count; node++)); do [[ -z ${nodes[node]-} ]] || end $node; done
kill -KILL "${etcd_processes[@]}"
wait
# A killed server leaves a shared memory segment, whose number is in its file.
for ((node = 1; node <= count; node++)); do
    memory=$(sed -n 7p "$folder/node$node/postmaster.pid" 2>/dev/null | awk '{ print $2 }')
    [[ -z $memory ]] || ipcrm -m "$memory"
done
# A killed process may still complete a write.
rm -rf -- "$folder" 2>/dev/null || { sleep 1 && rm -rf -- "$folder"; }

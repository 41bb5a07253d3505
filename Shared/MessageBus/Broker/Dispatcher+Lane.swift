import Messages

extension Dispatcher {
    package final class Lane {
        let id: LaneID
        var hello: Hello
        var lastHeard: BusClock.Milliseconds
        var isLeaving = false
        /// Whether it carries the writes of its process.
        var leads = false
        /// Set when another connection of the process broke after this lane's last message. The lane then gets only
        /// requests that no other lane can take.
        var isDoubtful = false
        var inFlight: Set<UInt64> = []
        /// Requests sent to it so far.
        var taken = 0
        /// The latest answered read, as `Pending.sending`. The lane has probably finished all reads sent before it;
        /// only a reply that needs no read overtakes them.
        var answered: UInt64 = 0
        /// The process: the routing ids of its lanes differ only after the last hyphen (`BusEndpoint`).
        var process: LaneID { id.lastIndex(of: UInt8(ascii: "-")).map { Array(id[..<$0]) } ?? id }

        init(id: LaneID, hello: Hello, lastHeard: BusClock.Milliseconds) {
            self.id = id
            self.hello = hello
            self.lastHeard = lastHeard
        }

        func heard(now: BusClock.Milliseconds) {
            lastHeard = now
            isDoubtful = false
        }
    }

    // MARK: Figures

    /// Requests sent to each connected replica since it joined, by its name.
    package var requestsByReplica: [String: Int] {
        lanes.values.reduce(into: [:]) { $0[$1.hello.replica, default: 0] += $1.taken }
    }

    /// Requests that wait for a lane, by service, without services that have none.
    package var waitingByService: [String: Int] {
        waiting.reduce(into: [:]) { if !$1.value.isEmpty { $0[String($1.key)] = $1.value.count } }
    }

    /// Connected lanes by service.
    package var lanesByService: [String: Int] {
        lanes.values.reduce(into: [:]) { $0[$1.hello.service, default: 0] += 1 }
    }

    /// Requests that a lane has and did not answer yet, by service.
    package var unansweredByService: [String: Int] {
        lanes.values.reduce(into: [:]) { $0[$1.hello.service, default: 0] += $1.inFlight.count }
    }
}

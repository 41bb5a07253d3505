import Messages

extension Dispatcher {
    package final class Lane {
        let id: LaneID
        var hello: Hello
        var lastHeard: BusClock.Milliseconds
        var isLeaving = false
        /// Whether it is the first lane of its process, which gets the process's shared writes.
        var isFirst = false
        /// Set when another lane of the process ends and this one may be gone, too: the other's connection broke, or
        /// this lane is silent (`breakSilence`). Until it is heard, it gets only requests that no other lane can take.
        var isDoubtful = false
        var inFlight: Set<UInt64> = []
        /// Requests sent to it so far.
        var taken = 0
        /// The number (`Pending.sending`) of the newest read that the lane has answered. The lane starts reads in
        /// order, so it is probably not stuck on an earlier one; only a reply that needs no read overtakes those.
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

import ParseProtocol

/// A write that waits for its commit.
package protocol QueuedWrite {
    /// The client that the write is scheduled for.
    var client: WorkClient { get }
    /// The number of objects to change; 1 or more.
    var weight: Int { get }
}

/// Why a write is not accepted into the queue.
package enum WriteRefusal: Error { case clientHasTooMany, full }

/// Decides which waiting writes share the next commit. Does no I/O; time is an argument.
///
/// If all waiting writes fit into one commit, they are taken in order of arrival, and only slow ones count as use
/// (`countedAlways`). Otherwise the network with the least recent use of the writer comes first, within it the client
/// with the least use, and among those the smallest write. A client with one save thus overtakes clients that send
/// batches without end, even if those have many accounts on one network. Writes of one client keep their order. The
/// shop's own writes, from services and the operator, get half of each commit before all others, so that neither side
/// waits for the other to finish.
package struct WriteQueue<Write: QueuedWrite> {
    /// Maximum writes in one commit. With 128 writes the fsync is already a small part of each write's cost. More
    /// writes would only delay the first.
    package static var groupMax: Int { 128 }
    /// Maximum estimated nanoseconds of one commit's writes: the wait of a newly arrived write.
    package static var groupNanosecondsMax: Double { 30e6 }
    /// Limit of waiting writes, some seconds of work; half of the slots are reserved for the shop itself.
    package static var placesMax: Int { 4096 }
    /// Limit of one client's waiting writes. It is below the number of requests that a gateway sends to a service at
    /// once (`Dispatcher.windowMax` for each of two lanes), so that one client cannot occupy that window alone.
    package static var clientPlacesMax: Int { 192 }
    /// Limit of objects in one client's waiting writes, if there is more than one write: twenty of the largest batches.
    package static var clientWeightMax: Int { 4096 }
    /// Limit of one near network's waiting writes; its wide network may have three quarters of the clients' slots.
    package static var networkPlacesMax: Int { 512 }
    /// Differences in use below this many nanoseconds do not count: that is the cost of a few saves of an app.
    private static var step: Double { 25e6 }
    /// Nanoseconds of use that a waiting write is forgiven for each commit that left it out. Without this, a stream of
    /// new clients could keep a batch waiting forever.
    private static var forgiven: Double { 1e6 }
    /// Initial estimate, in nanoseconds, of the time that one change takes; and the bounds of the estimate.
    private static var usualCost: Double { 50_000 }
    private static var costRange: ClosedRange<Double> { 5_000...10_000_000 }
    /// A write of at least this many nanoseconds counts as use even if no other write waited.
    private static var countedAlways: UInt64 { 1_000_000 }

    private struct Item {
        let write: Write
        /// The number of choices made before this write arrived.
        let choices: Int
    }

    private var items: [Item] = []
    private var weight = 0
    /// Use in nanoseconds of the writer's time.
    private var usage = DecayingUse<WorkClient>()
    private var networkUsage = NetworkUse()
    /// Waiting writes by network.
    private var places = NetworkAmounts(nearLimit: Self.networkPlacesMax, total: Self.placesMax / 2)
    private var choices = 0
    private var isChoosing = false
    /// Recent average of nanoseconds per changed object.
    private var cost = Self.usualCost

    package init() {}

    package var isEmpty: Bool { items.isEmpty }
    package var count: Int { items.count }

    /// Adds a write after the client's other writes.
    package mutating func enter(_ write: Write) throws(WriteRefusal) {
        let isShop = write.client == .shop
        guard items.count < (isShop ? Self.placesMax : Self.placesMax / 2) else { throw .full }
        if !isShop, items.count >= Self.clientPlacesMax || weight + write.weight > Self.clientWeightMax {
            try requirePlace(for: write)
        }
        if let network = write.client.network {
            guard places.hasRoom(network) else { throw .clientHasTooMany }
            places.add(1, of: network)
        }
        weight += write.weight
        items.append(Item(write: write, choices: choices))
    }

    private mutating func leave(_ write: Write) {
        weight -= write.weight
        if let network = write.client.network { places.add(-1, of: network) }
    }

    private func requirePlace(for write: Write) throws(WriteRefusal) {
        var own = (count: 0, weight: write.weight)
        for item in items where item.write.client == write.client {
            own.count += 1
            own.weight += item.write.weight
        }
        guard own.count < Self.clientPlacesMax, own.count == 0 || own.weight <= Self.clientWeightMax else {
            throw .clientHasTooMany
        }
    }

    /// Removes and returns the writes of the next commit, in order of arrival; empty when none wait.
    /// - Parameter now: nanoseconds of a monotonic clock.
    package mutating func nextGroup(now: UInt64) -> [Write] {
        isChoosing = items.count > Self.groupMax || Double(weight) * cost > Self.groupNanosecondsMax
        guard isChoosing else {
            defer { items.removeAll(keepingCapacity: true) }
            for item in items { leave(item.write) }
            return items.map(\.write)
        }
        let chosen = chosen(now)
        choices += 1
        var group: [Write] = []
        var rest: [Item] = []
        rest.reserveCapacity(items.count)
        for (item, isChosen) in zip(items, chosen) {
            if isChosen {
                group.append(item.write)
                leave(item.write)
            } else {
                rest.append(item)
            }
        }
        items = rest
        return group
    }

    /// Removes and returns all writes, in order of arrival.
    package mutating func removeAll() -> [Write] {
        defer { items = [] }
        for item in items { leave(item.write) }
        return items.map(\.write)
    }

    /// Records the end of a write.
    /// - Parameters:
    ///   - nanoseconds: the time that the writer needed.
    ///   - weight: the write's weight.
    package mutating func recordUse(_ nanoseconds: UInt64, for client: WorkClient, weight: Int, now: UInt64) {
        let measured = Double(nanoseconds) / Double(max(1, weight))
        cost += (min(max(measured, Self.costRange.lowerBound), Self.costRange.upperBound) - cost) / 32
        guard client != .shop, isChoosing || nanoseconds >= Self.countedAlways else { return }
        usage.add(nanoseconds, to: client, at: now)
        if let network = client.network { networkUsage.add(nanoseconds, to: network, at: now) }
    }

    // MARK: - Choosing

    /// For each waiting write, whether it is part of the next commit.
    private func chosen(_ now: UInt64) -> [Bool] {
        var own: [Int] = []
        var turns: [(turn: Double, place: Int)] = []
        var ends: [WorkClient: Double] = [:]
        func isBefore(_ one: (turn: Double, place: Int), _ other: (turn: Double, place: Int)) -> Bool {
            one.turn == other.turn ? one.place < other.place : one.turn < other.turn
        }
        for (place, item) in items.enumerated() {
            let client = item.write.client
            guard client != .shop else {
                own.append(place)
                continue
            }
            // The virtual finish time of this write: when it would end if its client had the writer alone, after all
            // earlier use of the client. Each further write of the client adds its cost. Forgiven time is subtracted
            // only for the order, not from this sum.
            let end = (ends[client] ?? used(by: client, now)) + Double(item.write.weight) * cost
            ends[client] = end
            turns.append((end - Double(choices - item.choices) * Self.forgiven, place))
        }
        turns.sort(by: isBefore)
        // The same for its network, whose writes are sorted in this order.
        var networkEnds: [UInt64: Double] = [:]
        for index in turns.indices {
            let item = items[turns[index].place]
            guard let network = item.write.client.network else { continue }
            let end =
                (networkEnds[network.near] ?? used(by: network, now)) + Double(item.write.weight) * cost
            networkEnds[network.near] = end
            turns[index].turn = end - Double(choices - item.choices) * Self.forgiven
        }
        turns.sort(by: isBefore)
        var group = Group(waiting: items.count)
        let taken = group.take(own[...], part: 0.5, items, cost)
        group.take(turns.map(\.place)[...], part: 1, items, cost)
        group.take(own[taken...], part: 1, items, cost, needsOne: false)
        return group.isChosen
    }

    private func used(by client: WorkClient, _ now: UInt64) -> Double {
        (usage.amount(of: client, at: now) / Self.step).rounded(.down) * Self.step
    }

    private func used(by network: ClientNetwork, _ now: UInt64) -> Double {
        (networkUsage.amount(of: network, at: now) / Self.step).rounded(.down) * Self.step
    }

    /// A commit that is being put together.
    private struct Group {
        var isChosen: [Bool]
        private var count = 0
        private var nanoseconds = 0.0

        init(waiting: Int) { isChosen = Array(repeating: false, count: waiting) }

        /// Takes writes in their order until the commit is full.
        /// - Parameters:
        ///   - part: the part of the commit that may be full afterwards.
        ///   - needsOne: take the first write in any case.
        /// - Returns: the number of writes taken.
        @discardableResult
        mutating func take(
            _ places: ArraySlice<Int>, part: Double, _ items: [Item], _ cost: Double, needsOne: Bool = true
        ) -> Int {
            var taken = 0
            for place in places {
                let work = Double(items[place].write.weight) * cost
                let fits =
                    Double(count) < Double(WriteQueue.groupMax) * part
                    && nanoseconds + work <= WriteQueue.groupNanosecondsMax * part
                guard fits || needsOne && taken == 0 else { break }
                isChosen[place] = true
                count += 1
                nanoseconds += work
                taken += 1
            }
            return taken
        }
    }
}

/// The times of a commit's writes. Only the writer's thread uses it.
package struct WriteTimes {
    package private(set) var entries: [(client: WorkClient, weight: Int, nanoseconds: UInt64)] = []
    private var last: UInt64 = 0
    /// The number of entries before the running transaction.
    private var kept = 0

    package init() {}

    /// Begins a commit.
    package mutating func begin() {
        entries.removeAll(keepingCapacity: true)
        resume()
    }

    /// Begins a transaction of the commit, after a pause whose time is charged to no client.
    package mutating func resume() {
        last = TimeLimit.monotonic
        kept = entries.count
    }

    /// Removes the writes of the running transaction.
    package mutating func undo() { entries.removeSubrange(kept...) }

    /// Records the end of a write of the commit, successful or not.
    package mutating func ended(_ write: some QueuedWrite) {
        let now = TimeLimit.monotonic
        entries.append((write.client, write.weight, now &- last))
        last = now
    }
}

import ParseProtocol

/// A write that waits for its commit.
package protocol QueuedWrite {
    /// The client whose turn it is.
    var client: WorkClient { get }
    /// What there is to change, in objects; 1 or more.
    var weight: Int { get }
}

/// Why a write gets no place.
package enum WriteRefusal: Error { case clientHasTooMany, full }

/// Decides which waiting writes share the next commit: without I/O, time is an argument.
///
/// What fits into one commit is taken as it came, and nothing is counted. Where more is waiting the turn goes to
/// whoever used the writer least lately, and among those to whoever asks for least: a client with one save passes those
/// who send batches without end. Of one client the first is first. The shop's own writes, those of services among each
/// other and those of the operator, have half of each commit before all others, so that neither side waits for the end
/// of the other.
package struct WriteQueue<Write: QueuedWrite> {
    /// Writes in one commit. More would only delay the first: at 128 the fsync is a small part of each.
    package static var groupMax: Int { 128 }
    /// Nanoseconds that the writes of one commit take, as far as it is known: what somebody who comes anew waits for.
    package static var groupNanosecondsMax: Double { 30e6 }
    /// Waiting writes, some seconds of work; half of the places are the shop's own.
    package static var placesMax: Int { 4096 }
    /// Waiting writes of one client: less than a gateway sends to a service at once (`Dispatcher.windowMax` for each of
    /// two lanes), so that one client cannot hold all of it.
    package static var clientPlacesMax: Int { 192 }
    /// Objects that the waiting writes of one client change, if they are more than one: twenty of the largest batches.
    package static var clientWeightMax: Int { 4096 }
    /// Nanoseconds by which use must differ to count: less is what a few saves of an app take.
    private static var step: Double { 25e6 }
    /// Nanoseconds of its client's use that are forgiven a write for each commit that it was not taken into. Without it
    /// others who come for the first time, one after the other, could keep a batch waiting for ever.
    private static var forgiven: Double { 1e6 }
    /// Nanoseconds that a change takes, before any was measured and in any case.
    private static var usualCost: Double { 50_000 }
    private static var costs: ClosedRange<Double> { 5_000...10_000_000 }
    /// Nanoseconds of one write that count although nobody waited for it.
    private static var noticed: UInt64 { 1_000_000 }

    private struct Item {
        let write: Write
        /// How often writes had been chosen when it came.
        let choices: Int
    }

    private var items: [Item] = []
    private var weight = 0
    /// Nanoseconds of the writer's time.
    private var usage = FadingUse<WorkClient>()
    private var choices = 0
    private var isChoosing = false
    /// Nanoseconds that changing an object took lately.
    private var cost = Self.usualCost

    package init() {}

    package var isEmpty: Bool { items.isEmpty }
    package var count: Int { items.count }

    /// Adds a write behind the others of its client.
    package mutating func enter(_ write: Write) throws(WriteRefusal) {
        let isShop = write.client == .shop
        guard items.count < (isShop ? Self.placesMax : Self.placesMax / 2) else { throw .full }
        if !isShop, items.count >= Self.clientPlacesMax || weight + write.weight > Self.clientWeightMax {
            try requirePlace(for: write)
        }
        weight += write.weight
        items.append(Item(write: write, choices: choices))
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

    /// The writes of the next commit, in the order in which they came; none when none wait.
    /// - Parameter now: nanoseconds of a clock that does not go back.
    package mutating func nextGroup(now: UInt64) -> [Write] {
        isChoosing = items.count > Self.groupMax || Double(weight) * cost > Self.groupNanosecondsMax
        guard isChoosing else {
            defer { items.removeAll(keepingCapacity: true) }
            weight = 0
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
                weight -= item.write.weight
            } else {
                rest.append(item)
            }
        }
        items = rest
        return group
    }

    /// Takes out everything, in the order in which it came.
    package mutating func removeAll() -> [Write] {
        defer {
            items = []
            weight = 0
        }
        return items.map(\.write)
    }

    /// A write was done.
    /// - Parameters:
    ///   - nanoseconds: of the writer's time.
    ///   - weight: its own.
    package mutating func worked(_ nanoseconds: UInt64, for client: WorkClient, weight: Int, now: UInt64) {
        let measured = Double(nanoseconds) / Double(max(1, weight))
        cost += (min(max(measured, Self.costs.lowerBound), Self.costs.upperBound) - cost) / 32
        guard client != .shop, isChoosing || nanoseconds >= Self.noticed else { return }
        usage.add(nanoseconds, to: client, at: now)
    }

    // MARK: - Choosing

    /// For each waiting write whether it is among the next.
    private func chosen(_ now: UInt64) -> [Bool] {
        var own: [Int] = []
        var turns: [(turn: Double, place: Int)] = []
        var ends: [WorkClient: Double] = [:]
        for (place, item) in items.enumerated() {
            let client = item.write.client
            guard client != .shop else {
                own.append(place)
                continue
            }
            // The end of this write if its client had the writer to itself, after all that the client used. It grows
            // with each write of a client, also by what is forgiven to the earlier ones.
            let end = (ends[client] ?? used(by: client, now)) + Double(item.write.weight) * cost
            ends[client] = end
            turns.append((end - Double(choices - item.choices) * Self.forgiven, place))
        }
        turns.sort { $0.turn == $1.turn ? $0.place < $1.place : $0.turn < $1.turn }
        var group = Group(waiting: items.count)
        let taken = group.take(own[...], part: 0.5, items, cost)
        group.take(turns.map(\.place)[...], part: 1, items, cost)
        group.take(own[taken...], part: 1, items, cost, needsOne: false)
        return group.isChosen
    }

    private func used(by client: WorkClient, _ now: UInt64) -> Double {
        (usage.amount(of: client, at: now) / Self.step).rounded(.down) * Self.step
    }

    /// A commit as it is put together.
    private struct Group {
        var isChosen: [Bool]
        private var count = 0
        private var nanoseconds = 0.0

        init(waiting: Int) { isChosen = Array(repeating: false, count: waiting) }

        /// Takes writes in their order until the commit is full.
        /// - Parameters:
        ///   - part: of the commit, that may be full afterwards.
        ///   - needsOne: the first is taken in any case.
        /// - Returns: how many were taken.
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

/// The times that the writes of a commit took. The writer's thread alone uses it.
struct WriteTimes {
    private(set) var entries: [(client: WorkClient, weight: Int, nanoseconds: UInt64)] = []
    private var last: UInt64 = 0

    /// Begins a commit.
    mutating func begin() {
        entries.removeAll(keepingCapacity: true)
        last = TimeLimit.monotonic
    }

    /// Goes on after a pause, which is nobody's.
    mutating func resume() { last = TimeLimit.monotonic }

    /// A write of the commit was done, well or not.
    mutating func ended(_ write: some QueuedWrite) {
        let now = TimeLimit.monotonic
        entries.append((write.client, write.weight, now &- last))
        last = now
    }
}

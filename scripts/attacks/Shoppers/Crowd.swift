import NIOCore

/// The honest side: shoppers, each from an address of its own, and the shop's admin.
struct Crowd: Sendable {
    private var shoppers: [Shopper]
    private var admin: Operator

    /// - Parameter count: 1 to 200.
    init(_ target: Target, count: Int, shelf: Shelf, on group: any EventLoopGroup) throws {
        shoppers = (1...count).map { Shopper(Device(target, from: "127.0.1.\($0)", on: group), shelf: shelf) }
        admin = try Operator(Device(target, from: "127.0.1.250", on: group))
    }

    /// Brings everybody in: sign-ups, first starts of the app, and the admin's first sign-in.
    /// - Throws: `AttackError` when somebody is not let in, though nobody attacks.
    mutating func arrive() async throws {
        let record = HonestRecord()
        let end = ContinuousClock.now + .seconds(60)
        await admin.signIn(until: end, into: record)
        // Four at a time: passwords are hashed one after the other.
        for start in stride(from: 0, to: shoppers.count, by: 4) {
            let range = start..<min(start + 4, shoppers.count)
            let arrived = await Self.together(Array(shoppers[range].enumerated())) { shopper in
                await shopper.element.arrive(hasAccount: shopper.offset % 2 == 0, until: end, into: record)
            }
            shoppers.replaceSubrange(range, with: arrived.map(\.element))
        }
        guard record.result.errors.isEmpty else { throw AttackError("Arriving: \(record.result.errors)") }
    }

    /// - Returns: what they met, when all are done: a request that is under way at `end` is waited for.
    mutating func shop(until end: ContinuousClock.Instant) async -> HonestRecord.Result {
        let record = HonestRecord()
        let (people, owner) = (shoppers, admin)
        async let shopped = Self.together(people) { await $0.shop(until: end, into: record) }
        async let worked = Self.together([owner]) { await $0.work(until: end, into: record) }
        shoppers = await shopped
        admin = await worked.first ?? admin
        return record.result
    }

    /// Runs all at once, and gives back what became of them in their order.
    private static func together<Person: Sendable>(
        _ people: [Person], _ act: @escaping @Sendable (inout Person) async -> Void
    ) async -> [Person] {
        await withTaskGroup(of: (Int, Person).self) { group in
            for (index, person) in people.enumerated() {
                group.addTask {
                    var person = person
                    await act(&person)
                    return (index, person)
                }
            }
            return await group.reduce(into: people) { $0[$1.0] = $1.1 }
        }
    }
}

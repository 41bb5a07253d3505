import NIOCore

/// The honest side: shoppers with separate addresses, the shop's admin, and a live query client.
struct Crowd: Sendable {
    private var shoppers: [Shopper]
    private var admin: Operator
    private var listener: Listener

    /// - Parameter count: 1 to 200.
    init(_ target: Target, count: Int, shelf: Shelf, on group: any EventLoopGroup) throws {
        shoppers = (1...count).map { Shopper(Device(target, from: "127.2.\($0).1", on: group), shelf: shelf) }
        admin = try Operator(Device(target, from: "127.2.250.1", on: group))
        listener = Listener(Device(target, from: "127.2.251.1", on: group))
    }

    /// Signs everyone in: sign-ups, first app starts, and the admin's first sign-in.
    /// - Throws: `AttackError` when one fails although no attack is running.
    mutating func arrive() async throws {
        let record = ShopperRecord()
        let end = ContinuousClock.now + .seconds(60)
        await admin.signIn(until: end, into: record)
        // Four at a time, because passwords are hashed one at a time.
        for start in stride(from: 0, to: shoppers.count, by: 4) {
            let range = start..<min(start + 4, shoppers.count)
            let arrived = await Self.together(Array(shoppers[range].enumerated())) { shopper in
                await shopper.element.arrive(hasAccount: shopper.offset % 2 == 0, until: end, into: record)
            }
            shoppers.replaceSubrange(range, with: arrived.map(\.element))
        }
        guard record.result.errors.isEmpty else { throw AttackError("Arriving: \(record.result.errors)") }
    }

    /// - Returns: the shoppers' measurements; requests in flight at `end` are awaited.
    mutating func shop(until end: ContinuousClock.Instant) async -> ShopperRecord.Result {
        let record = ShopperRecord()
        let (people, owner, client) = (shoppers, admin, listener)
        async let shopped = Self.together(people) { await $0.shop(until: end, into: record) }
        async let worked = Self.together([owner]) { await $0.work(until: end, into: record) }
        async let listened = Self.together([client]) { await $0.listen(until: end, into: record) }
        shoppers = await shopped
        admin = await worked.first ?? admin
        listener = await listened.first ?? listener
        return record.result
    }

    /// Runs all concurrently and returns their results in order.
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

import ObjectStore
import ParseProtocol
import Testing

/// How a search finds a page: it checks a few candidates one by one, but walks many in the requested order.
@Suite struct TextSearchTests {
    private static let count = 3000
    private static let callers = [Caller.anonymous, .master, Caller(userId: "annannanna", roles: ["admins"])]

    /// Every product has "common" in its name or detail. One of a hundred has "rare" in its name, another one in its
    /// detail. "late" is in each detail of the second half by name.
    private static func shop() async throws -> TestStore {
        let test = try await TestStore([
            ClassDefinition(
                "Product", fields: ["name": .string, "detail": .string, "price": .number],
                indexes: [["name"]], textFields: ["name", "detail"])
        ])
        try await test.store.write { transaction in
            for number in 0..<count {
                let (name, detail) = number.isMultiple(of: 2) ? ("common", "plain") : ("plain", "common late")
                let object: JSON = [
                    "name": .string("\(name) \(number)\(number % 100 == 7 ? " rare" : "")"),
                    "detail": .string("\(detail)\(number % 100 == 8 ? " rare" : "")"),
                    "price": .int(Int64(number % 50)),
                ]
                _ = try transaction.create("Product", object, caller: .master)
            }
        }
        return test
    }

    private static func search(_ word: String, order: [String] = ["name"]) -> Query {
        let pattern: JSON = ["$regex": .string("\\Q\(word)\\E"), "$options": "i"]
        return Query(
            className: "Product",
            where: ["$or": [["name": pattern], ["detail": pattern]], "price": ["$gte": 2, "$lte": 40]], order: order,
            limit: 20)
    }

    /// The index of words or of their ends; json_each is a virtual table too.
    private static func usesIndex(_ plan: String) -> Bool {
        guard TestStore.server == nil else { return plan.contains("w1") }
        return ["w1", "t1"].contains { plan.contains("\($0) VIRTUAL TABLE INDEX") }
    }

    @Test(arguments: callers) func aRareWordIsLookedUpAndACommonOneMetOnTheWay(_ caller: Caller) async throws {
        let test = try await Self.shop()
        let (rare, common) = (Self.search("RARE"), Self.search("COMMON"))
        let plans = try await test.store.read {
            (rare: try $0.plan(rare, caller: caller), common: try $0.plan(common, caller: caller))
        }
        #expect(Self.usesIndex(plans.rare), "\(plans.rare)")
        #expect(!Self.usesIndex(plans.common), "\(plans.common)")
        // The server's function calls cannot be counted.
        guard TestStore.server == nil else { return }
        let work = try await test.store.read {
            (rare: try $0.work(of: rare, caller: caller), common: try $0.work(of: common, caller: caller))
        }
        // One call for each pattern that an object is searched for.
        #expect(work.rare.calls <= 2 * Self.count / 50, "\(work.rare)")
        #expect(work.common.calls <= Self.count / 10, "\(work.common)")
    }

    @Test(.sqliteOnly("PostgreSQL reads all objects in the order of the page."), arguments: callers)
    func ofManyCandidatesLateInTheOrderOnlyThoseOfThePageAreRead(_ caller: Caller) async throws {
        let test = try await Self.shop()
        let late = Self.search("LATE")
        let plan = try await test.store.read { try $0.plan(late, caller: caller) }
        #expect(!Self.usesIndex(plan), "\(plan)")
        #expect(plan.contains("i1_name"), "\(plan)")
        let work = try await test.store.read { try $0.work(of: late, caller: caller) }
        #expect(work.calls <= Self.count / 10, "\(work)")
        // SQLite looks up candidates in the order of creation.
        let newest = Self.search("LATE", order: ["-$natural"])
        let lookups = try await test.store.read { try $0.work(of: newest, caller: caller) }
        #expect(lookups.calls <= Self.count / 10, "\(lookups)")
    }

    /// An automatic index finds the range, which contains nearly all objects.
    @Test(.sqliteOnly("Automatic indexes are tables that triggers of SQLite keep."), arguments: callers)
    func anAutomaticIndexDoesNotTakeItsPlace(_ caller: Caller) async throws {
        let test = try await Self.shop()
        let wish: JSON = ["indexes": ["auto_price_name": ["price": 1, "name": 1, "_order": ["price", "name"]]]]
        try await test.store.write { _ = try $0.changeClass("Product", wish, keeping: []) }
        while try await test.store.write({ try $0.stepIndexes(IndexEffort()) }) != .nothing {}
        let plan = try await test.store.read { try $0.plan(Self.search("rare"), caller: caller) }
        #expect(plan.contains("VIRTUAL TABLE INDEX"), "\(plan)")
        let calls = try await test.store.read { try $0.work(of: Self.search("rare"), caller: caller).calls }
        #expect(calls <= 2 * Self.count / 50)
    }

    @Test(arguments: callers) func bothWaysFindTheSame(_ caller: Caller) async throws {
        let test = try await Self.shop()
        for word in ["rare", "common", "late", "plain 1", "nothing of it"] {
            for order in [["name"], ["-name"], ["-price", "name"], []] {
                let searched = try await test.store.read {
                    try $0.documents(Self.search(word, order: order), caller: caller)
                }
                // A pattern without a literal uses no index.
                let pattern: JSON = ["$regex": .string("(\(word))"), "$options": "i"]
                let walked = Query(
                    className: "Product",
                    where: ["$or": [["name": pattern], ["detail": pattern]], "price": ["$gte": 2, "$lte": 40]],
                    order: order, limit: 20)
                let expected = try await test.store.read { try $0.documents(walked, caller: caller) }
                #expect(searched == expected, "\(word) by \(order)")
            }
        }
    }

    @Test func whatMayNotBeReadIsNotFound() async throws {
        let test = try await Self.shop()
        try await test.create("Product", ["name": "rare secret", "price": 5, "ACL": [:]])
        let found = try await test.store.read { try $0.documents(Self.search("rare sec"), caller: .anonymous) }
        #expect(found == [])
        let all = try await test.store.read { try $0.documents(Self.search("rare sec"), caller: .master) }
        #expect(all.count == 1)
    }
}

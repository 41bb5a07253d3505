import CatalogService
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// The name that a review shows.
@Suite struct ReviewNameTests {
    @Test(arguments: [
        ("Ann", "Ann"), ("  Ann E. ", "Ann E."), ("Zoë 👩‍🔬", "Zoë 👩‍🔬"), ("安", "安"),
        ("Ann 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "Ann 🏴󠁧󠁢󠁥󠁮󠁧󠁿"),
    ])
    func aNameIsALine(text: String, shown: String) {
        #expect(PublicName(text)?.text == shown)
    }

    @Test(arguments: [
        "", "   ", "a\nb", "a\u{0}b", "a\u{202E}b", "a\u{2028}b", "a\u{E0067}b", String(repeating: "x", count: 51),
        "e" + String(repeating: "\u{301}", count: 200),
    ])
    func whatCannotBeShownIsNoName(text: String) {
        #expect(PublicName(text) == nil)
    }

    @Test func theAuthorsNameStaysWithTheReviewUntilTheAccountGoes() async throws {
        let sandbox = try await SandboxStore(catalogPlan(.standard))
        let product = try await sandbox.apply(
            .create, "Product", nil, ["name": "Serum", "unitPrice": 3.5], as: .satchel
        ).objectId
        let review: JSON = ["product": .pointer("Product", product), "content": "Good", "authorName": " Ann "]
        let made = try await sandbox.apply(.create, "ProductReview", nil, review, as: .user("alice"))
        #expect(made.after?["authorName"] == "Ann")
        #expect(made.answer["authorName"] == "Ann")
        let changed = try await sandbox.apply(
            .update, "ProductReview", made.objectId, ["authorName": "Ann E."], as: .user("alice"))
        #expect(changed.after?["authorName"] == "Ann E.")
        let refused = await parseError {
            try await sandbox.apply(
                .update, "ProductReview", made.objectId, ["authorName": "a\nb"], as: .user("alice"))
        }
        #expect(refused?.code == .validationError)
        let wrong = await parseError {
            try await sandbox.apply(.update, "ProductReview", made.objectId, ["authorName": 7], as: .user("alice"))
        }
        #expect(wrong?.code == .incorrectType)
        try await sandbox.store.write { try AccountDeletion.forget("alice", in: $0) }
        let left = try await sandbox.document("ProductReview", made.objectId)
        #expect(left["authorName"] == nil)
        #expect(left["content"] == "Good")
    }

    // MARK: A new name of the account

    private static func renamed(_ former: String, _ name: String, at moment: Int64) -> UserRenamed {
        .with {
            $0.userID = "alice"
            $0.formerName = former
            $0.name = name
            $0.renamedAt = moment
        }
    }

    /// A catalog with reviews by alice and one by bob. Returns also the ids of alice's reviews, in the order of
    /// `names`.
    private static func reviews(_ names: [String?]) async throws -> (SandboxStore, [String], ofBob: String) {
        let sandbox = try await SandboxStore(catalogPlan(.standard))
        func review(_ name: String?, by user: String) async throws -> String {
            let product = try await sandbox.apply(
                .create, "Product", nil, ["name": "Serum", "unitPrice": 3.5], as: .satchel
            ).objectId
            var review: JSON = ["product": .pointer("Product", product), "content": "Good"]
            review["authorName"] = name.map { JSON.string($0) }
            return try await sandbox.apply(.create, "ProductReview", nil, review, as: .user(user)).objectId
        }
        var ids: [String] = []
        for name in names { ids.append(try await review(name, by: "alice")) }
        let ofBob = try await review("Ann", by: "bob")
        return (sandbox, ids, ofBob)
    }

    /// Runs until nothing is left.
    private static func settle(_ sandbox: SandboxStore) async throws {
        while try await sandbox.store.write({ try AuthorRenames.goOn(in: $0) }) {}
    }

    private static func names(_ sandbox: SandboxStore, _ ids: [String]) async throws -> [JSON?] {
        var names: [JSON?] = []
        for id in ids { names.append(try await sandbox.document("ProductReview", id)["authorName"]) }
        return names
    }

    @Test func reviewsWithTheAccountsNameGetTheNewOne() async throws {
        let (sandbox, ids, ofBob) = try await Self.reviews(["Ann", "A shopper", nil, "Ann"])
        let before = try await sandbox.document("ProductReview", ids[0])
        for _ in 0..<2 {
            try await sandbox.store.write { try AuthorRenames.take(Self.renamed("Ann", " Anna ", at: 1), in: $0) }
            try await Self.settle(sandbox)
            #expect(try await Self.names(sandbox, ids) == ["Anna", "A shopper", nil, "Anna"])
        }
        #expect(try await Self.names(sandbox, [ofBob]) == ["Ann"])
        #expect(try await sandbox.document("ProductReview", ids[0])["updatedAt"] == before["updatedAt"])
        try await sandbox.store.write { try AuthorRenames.take(Self.renamed("Anna", "", at: 2), in: $0) }
        try await Self.settle(sandbox)
        #expect(try await Self.names(sandbox, ids) == [nil, "A shopper", nil, nil])
        try await sandbox.store.write { try AuthorRenames.take(Self.renamed("", "Ann", at: 3), in: $0) }
        try await Self.settle(sandbox)
        #expect(try await Self.names(sandbox, ids) == [nil, "A shopper", nil, nil], "Who had no name gets none.")
    }

    /// Messages are sent concurrently, and again after a lost answer.
    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2, 0], [2, 0, 1, 1]], [false, true])
    func theNewestNameIsLeftWhateverComesFirst(_ order: [Int], _ settlesBetween: Bool) async throws {
        let messages = [
            Self.renamed("Ann", "Anna", at: 10), Self.renamed("Anna", "a\nb", at: 20),
            Self.renamed("a\nb", "Annabel", at: 30),
        ]
        let (sandbox, ids, _) = try await Self.reviews(["Ann", "Anna"])
        for number in order {
            try await sandbox.store.write { try AuthorRenames.take(messages[number], in: $0) }
            if settlesBetween { try await Self.settle(sandbox) }
        }
        try await Self.settle(sandbox)
        let left = try await Self.names(sandbox, ids)
        // An unsuitable name removes the previous one, if it is processed in between.
        #expect(left.allSatisfy { $0 == "Annabel" || (settlesBetween && $0 == nil) }, "\(left)")
        #expect(try await sandbox.count("SELECT count(*) FROM formerNames") == 0)
    }

    @Test func manyReviewsAreRenamedSomeAtATime() async throws {
        let count = AuthorRenames.reviewsMax + 1
        let (sandbox, ids, _) = try await Self.reviews([])
        #expect(ids.isEmpty)
        try await sandbox.store.write { transaction in
            for number in 0..<count {
                _ = try transaction.create(
                    "ProductReview",
                    ["user": .pointer("_User", "alice"), "authorName": "Ann", "content": .string("\(number)")],
                    caller: .master)
            }
            try AuthorRenames.take(Self.renamed("Ann", "Anna", at: 1), in: transaction)
        }
        func named(_ name: String) async throws -> Int {
            try await sandbox.store.read {
                try $0.count(
                    Query(
                        className: "ProductReview",
                        where: ["user": .pointer("_User", "alice"), "authorName": .string(name)]), caller: .master)
            }
        }
        func goesOn() async throws -> Bool { try await sandbox.store.write { try AuthorRenames.goOn(in: $0) } }
        #expect(try await goesOn())
        #expect(try await named("Anna") == AuthorRenames.reviewsMax)
        #expect(try await named("Ann") == 1)
        #expect(try await goesOn())
        #expect(try await named("Anna") == count)
        let isMore = try await goesOn()
        #expect(!isMore)
    }

    @Test func nothingIsLeftOfADeletedAuthor() async throws {
        let (sandbox, _, _) = try await Self.reviews(["Ann"])
        try await sandbox.store.write { transaction in
            try AuthorRenames.take(Self.renamed("Ann", "Anna", at: 1), in: transaction)
            try AccountDeletion.forget("alice", in: transaction)
            // Messages of an outbox overtake each other.
            try AuthorRenames.take(Self.renamed("Anna", "Annabel", at: 2), in: transaction)
        }
        for table in ["formerNames", "renamedAuthors"] {
            #expect(try await sandbox.count("SELECT count(*) FROM \(table)") == 0)
        }
    }
}

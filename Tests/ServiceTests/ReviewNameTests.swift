import CatalogService
import Messages
import ObjectStore
import ParseProtocol
import Testing

/// The name that a review shows.
@Suite struct ReviewNameTests {
    @Test(arguments: [("Ann", "Ann"), ("  Ann E. ", "Ann E."), ("Zoë 👩‍🔬", "Zoë 👩‍🔬"), ("安", "安")])
    func aNameIsALine(text: String, shown: String) {
        #expect(PublicName(text)?.text == shown)
    }

    @Test(arguments: [
        "", "   ", "a\nb", "a\u{0}b", "a\u{202E}b", "a\u{2028}b", String(repeating: "x", count: 51),
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
        try await sandbox.store.write { try ForgottenUser.forget("alice", in: $0) }
        let left = try await sandbox.document("ProductReview", made.objectId)
        #expect(left["authorName"] == nil)
        #expect(left["content"] == "Good")
    }
}

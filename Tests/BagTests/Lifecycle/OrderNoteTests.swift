import BagService
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import TestSupport
import Testing

/// The notes that operators write on orders.
@Suite struct OrderNoteTests {
    private static let clerk = OrderNotes.Author(userId: "clerk", name: "Cleo")

    private static func add(
        _ text: String, to order: String, by author: OrderNotes.Author = clerk, in bag: BagStore
    ) async throws -> JSON {
        try await bag.store.write { try OrderNotes.add(text, to: order, by: author, in: $0) }
    }

    private static func notes(in bag: BagStore, as caller: Caller = .master) async throws -> [JSON] {
        let all = Query(className: OrderNotes.className, where: [:] as JSON, limit: 1000)
        return try await bag.store.read { try $0.documents(all, caller: caller) }
    }

    @Test func aNoteSaysWhoWhenAndWhat() async throws {
        let (bag, order) = try await BagStore.paid()
        let note = try await Self.add("Called:\nafter six.", to: order, in: bag)
        #expect(note["text"] == "Called:\nafter six.")
        #expect(note["order"] == .pointer("Order", order))
        #expect(note["author"] == .pointer("_User", "clerk"))
        #expect(note["authorName"] == "Cleo")
        #expect(note["createdAt"]?.stringValue?.isEmpty == false)
        let byMasterKey = try await Self.add("x", to: order, by: .init(userId: "", name: ""), in: bag)
        #expect(byMasterKey["author"] == nil)
        #expect(byMasterKey["authorName"] == nil)
        // The order object does not contain the notes.
        #expect(try await bag.document("Order", order)?.serializedText.contains(note.objectId) == false)
    }

    @Test func theCustomerSeesNone() async throws {
        let (bag, order) = try await BagStore.paid()
        let note = try await Self.add("Pays late.", to: order, in: bag)
        let readers: [(roles: [String], sees: Bool)] = [
            ([], false), (["catalog-editors"], false), (["developers"], false), (["admins"], true),
        ]
        for (roles, sees) in readers {
            let caller = Caller(userId: "u1", roles: roles)
            let all = await parseCode {
                let found = try await Self.notes(in: bag, as: caller)
                #expect(found.count == 1)
            }
            #expect(all == (sees ? nil : 119), "\(roles)")
            let one = await parseCode {
                _ = try await bag.store.read {
                    try $0.document(OrderNotes.className, note.objectId, caller: caller)
                }
            }
            #expect((one == nil) == sees, "\(roles)")
        }
        for verb in [ProposedChange.Verb.create, .update, .delete] {
            let id = verb == .create ? nil : note.objectId
            let code = await parseCode { try await bag.save(verb, OrderNotes.className, id, ["text": "x"], by: "u1") }
            #expect(code == 119, "\(verb)")
        }
    }

    @Test func notesAreBoundedAndOfMadeOrders() async throws {
        let (bag, order) = try await BagStore.paid()
        try await bag.store.write { transaction in
            for _ in 0..<OrderNotes.countMax {
                _ = try OrderNotes.add("x", to: order, by: Self.clerk, in: transaction)
            }
        }
        #expect(await parseCode { _ = try await Self.add("one more", to: order, in: bag) } == 142)
        let (open, _) = try await bag.bag(of: "u2")
        for id in [open, "missing"] {
            #expect(await parseCode { _ = try await Self.add("x", to: id, in: bag) } == 101, "\(id)")
        }
    }

    @Test(
        arguments: [
            ([:], 142), (["text": ""], 142), (["text": " \n\t"], 142), (["text": 7], 111), (["text": "a\u{0}"], 142),
            (["text": "\u{7}"], 142), (["text": "two\nlines"], nil),
            (["text": .string(String(repeating: "x", count: 4000))], nil),
            (["text": .string(String(repeating: "x", count: 4001))], 142),
        ] as [(JSON, Int?)])
    func aTextIsPlainAndNotTooLong(_ parameters: JSON, _ code: Int?) async {
        #expect(await parseCode { _ = try OrderNotes.text(parameters) } == code)
    }

    @Test func authorsAndAdminsRemoveNotes() async throws {
        let (bag, order) = try await BagStore.paid()
        let ids = [try await Self.add("1", to: order, in: bag), try await Self.add("2", to: order, in: bag)]
            .map(\.objectId)
        func remove(_ id: String, by author: String?) async -> Int? {
            await parseCode {
                let of = try await bag.store.write { try OrderNotes.remove(id, writtenBy: author, in: $0) }
                #expect(of == order)
            }
        }
        #expect(await remove(ids[0], by: "other") == 119)
        #expect(await remove(ids[0], by: "clerk") == nil)
        #expect(await remove(ids[0], by: "clerk") == 101)
        #expect(await remove(ids[1], by: nil) == nil)
        #expect(try await Self.notes(in: bag).isEmpty)
    }

    private static func mail() throws -> CustomerMail { try CustomerMail(["subject": "Hi", "text": "Hello"]) }

    @Test func aMailIsKeptAndGoesWithTheAccount() async throws {
        let (bag, order) = try await BagStore.paid()
        let mail = try Self.mail()
        let kept = try await bag.store.write { transaction in
            let ofOrder = try OrderNotes.keep(mail, to: "u1", about: order, by: Self.clerk, in: transaction)
            let alone = try OrderNotes.keep(mail, to: "u1", about: nil, by: Self.clerk, in: transaction)
            return [ofOrder, alone]
        }
        #expect(kept.map { $0["subject"] } == ["Hi", "Hi"])
        #expect(kept.map { $0["order"] } == [.pointer("Order", order), nil])
        for note in kept {
            let code = await parseCode {
                _ = try await bag.store.write { try OrderNotes.remove(note.objectId, writtenBy: nil, in: $0) }
            }
            #expect(code == 119)
        }
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        #expect(try await Self.notes(in: bag).isEmpty)
        let late = await parseCode {
            _ = try await bag.store.write { transaction in
                try OrderNotes.keep(mail, to: "u1", about: nil, by: Self.clerk, in: transaction)
            }
        }
        #expect(late == 101)
    }

    @Test func mailsMoveWithTheBagsHistory() async throws {
        let bag = try await BagStore()
        let mail = try Self.mail()
        _ = try await bag.store.write { try OrderNotes.keep(mail, to: "anon", about: nil, by: Self.clerk, in: $0) }
        try await BagMoveTests.move(bag)
        #expect(try await Self.notes(in: bag).map { $0["customer"] } == [.pointer("_User", "u1")])
    }

    @Test func notesGoWithTheirOrderAndWithTheCustomersAccount() async throws {
        let (bag, order) = try await BagStore.paid()
        _ = try await Self.add("Ann called.", to: order, in: bag)
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        #expect(try await Self.notes(in: bag).isEmpty)
        _ = try await Self.add("x", to: order, in: bag)
        try await bag.save(.delete, "Order", order, [:], as: .with { $0.master = true })
        #expect(try await Self.notes(in: bag).isEmpty)
    }

    @Test func whatAnOperatorWroteLosesTheNameWithTheirAccount() async throws {
        let (bag, order) = try await BagStore.paid()
        _ = try await Self.add("Stays.", to: order, in: bag)
        try await bag.store.write { try AccountDeletion.forget("clerk", in: $0) }
        let note = try #require(try await Self.notes(in: bag).first)
        #expect(note["text"] == "Stays.")
        #expect(note["author"] == nil)
        #expect(note["authorName"] == nil)
    }
}

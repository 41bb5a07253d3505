import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing
import UsersService

/// Fields of `_User` that apps of hosted Parse use.
@Suite struct UsersFieldTests {
    private static func declare(_ type: String, in store: ClassStore) async throws {
        try await store.write { transaction in
            for change in [["__op": "Delete"], ["type": .string(type)]] as [JSON] {
                _ = try transaction.changeClass("_User", ["fields": ["gender": change]], keeping: [])
            }
        }
    }

    private static func save(_ gender: JSON, in store: ClassStore) async throws {
        try await store.write {
            _ = try $0.create("_User", ["username": .string(Names.random(8)), "gender": gender], caller: .master)
        }
    }

    @Test func genderIsANumberOrAText() async throws {
        try await withUsersStore { store in
            for gender in ["male", 10, "female", 9] as [JSON] { try await Self.save(gender, in: store) }
            #expect(await parseCode { try await Self.save(true, in: store) } == 111)
            let conditions: [(JSON, [JSON])] = [
                ([:], [9, 10, "female", "male"]), (["gender": 10], [10]), (["gender": "male"], ["male"]),
                (["gender": ["$in": [9, "male"]]], [9, "male"]), (["gender": ["$gt": 9]], [10]),
                (["gender": ["$regex": "^fe"]], ["female"]), (["gender": ["$ne": 9]], [10, "female", "male"]),
            ]
            for (condition, expected) in conditions {
                let found = try await store.read {
                    try $0.documents(
                        Query(className: "_User", where: condition, order: ["gender"]), caller: .master)
                }
                #expect(found.compactMap { $0["gender"] } == expected, "\(condition)")
            }
        }
    }

    @Test func theTextOfEarlierReleasesBecomesANumberWhereNobodyUsedIt() async throws {
        try await withUsersStore { store in
            try await Self.declare("String", in: store)
            try await store.write { try GenderField.convert(in: $0) }
            try await Self.save(1, in: store)
            // A repetition changes nothing.
            try await store.write { try GenderField.convert(in: $0) }
            #expect(
                try JSON(parsing: try await store.read { try $0.schema(of: "_User") })["fields"]?["gender"]?["type"]
                    == "Number")
        }
    }

    @Test func aTextThatSomebodySavedStays() async throws {
        try await withUsersStore { store in
            try await Self.declare("String", in: store)
            try await Self.save("female", in: store)
            try await store.write { try GenderField.convert(in: $0) }
            try await Self.save("male", in: store)
        }
    }
}

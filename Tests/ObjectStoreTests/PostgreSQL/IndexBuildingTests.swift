import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// Automatic indexes in PostgreSQL: the server builds them concurrently with writes, and a failed build leaves nothing
/// behind.
@Suite(.postgresqlOnly("In SQLite the writer makes them in steps.")) struct IndexBuildingTests {
    /// A reader's transaction. A build must wait for its end before the index becomes valid.
    private final class OldSnapshot: Sendable {
        private let end = DispatchSemaphore(value: 0)

        init(_ store: ClassStore) async {
            let end = end
            await withCheckedContinuation { begun in
                Thread.detachNewThread {
                    do {
                        let reader = try store.makeReader()
                        try reader.onOneSnapshot {
                            // It begins with its first statement.
                            _ = try reader.rows("SELECT 1")
                            begun.resume()
                            end.wait()
                        }
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }

        func release() { end.signal() }
    }

    private static func states(_ test: TestStore) async throws -> [String] {
        try await test.store.read { reader in
            try reader.rows(
                """
                SELECT relname || CASE WHEN indisvalid THEN ' valid' ELSE ' invalid' END FROM pg_index \
                JOIN pg_class ON pg_class.oid = indexrelid WHERE relname ~ '^a[0-9]' \
                AND relnamespace = quote_ident(current_schema())::regnamespace ORDER BY relname
                """
            ).map { try $0.text(0) }
        }
    }

    /// Starts a build of an index of `title`, which cannot end before the snapshot does.
    private static func build(_ things: IndexedClass) async throws -> (OldSnapshot, Task<IndexStep, any Error>) {
        try await things.wish(["title"])
        let old = await OldSnapshot(things.test.store)
        let step = Task { try await things.test.store.stepIndexes() }
        try await waitForBuild(things.test)
        return (old, step)
    }

    /// Waits until the server is building.
    private static func waitForBuild(_ test: TestStore) async throws {
        let isBuilding = try await comesTrue(within: 60) { try await !states(test).isEmpty }
        try #require(isBuilding)
    }

    @Test func writesGoOnWhileItIsBuilt() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 100)
        let (old, step) = try await Self.build(things)
        defer { old.release() }
        for number in 0..<20 { try await test.create("Fast", ["title": .string("during \(number)"), "name": "x"]) }
        #expect(try await Self.states(test) == ["a1 invalid"])
        old.release()
        #expect(try await step.value == .ready("auto_title"))
        #expect(try await Self.states(test) == ["a1 valid"])
        #expect(try await test.names("Fast", ["title": "during 7"]) == ["x"])
        #expect(try await test.store.stepIndexes() == .nothing)
    }

    /// A process that ends during a build leaves an index that is maintained but unusable.
    @Test func whatABuildLeftIsClearedAway() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 50)
        let (old, step) = try await Self.build(things)
        defer { old.release() }
        test.store.stop()
        // The result depends on what the task sees first: the end of the build, or the loss of the writer.
        let outcome = try? await step.value
        #expect(outcome == nil || outcome == .later)
        old.release()
        let later = try await TestStore(path: test.path)
        #expect(try await Self.states(later) == ["a1 invalid"])
        #expect(try await later.store.stepIndexes() == .ready("auto_title"))
        #expect(try await Self.states(later) == ["a1 valid"])
        withExtendedLifetime(test) {}
    }

    /// Avoids a deadlock: a change of the class's tables would wait for the build, and the build for the change. Here
    /// the build cannot end before the old snapshot does, so a change that waited for it would never succeed.
    @Test(.timeLimit(.minutes(2))) func aBuildMakesWayForChangesOfTheClass() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 50)
        let (old, step) = try await Self.build(things)
        defer { old.release() }
        let wish: JSON = ["indexes": ["byPrice": ["price": 1]]]
        try await test.store.write { _ = try $0.changeClass("Fast", wish, keeping: []) }
        #expect(try await step.value == .later)
        old.release()
        #expect(try await things.finish() == [.ready("auto_title")])
        #expect(try await Self.states(test) == ["a1 valid"])
    }

    @Test func aRemovedOneIsGoneFromTheServer() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        for fields in [["title"], ["brand", "price"]] { try await things.wish(fields) }
        #expect(try await things.finish() == [.ready("auto_title"), .ready("auto_brand_price")])
        let change: JSON = ["indexes": ["auto_title": ["__op": "Delete"]]]
        try await test.store.write { _ = try $0.changeClass("Fast", change, keeping: []) }
        #expect(try await things.finish() == [.dropped])
        #expect(try await Self.states(test) == ["a2 valid"])
    }

    private static func long(_ count: Int = 9_000) -> JSON {
        .string(String((0..<count).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement() ?? "a" }))
    }

    /// An automatic index must not reject an object that could be saved without it.
    @Test func anIndexGivesWayToALongValue() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        for fields in [["title"], ["price"]] { try await things.wish(fields) }
        try await things.finish()
        let object: JSON = ["title": Self.long(), "name": "long"]
        let refused = await error { try await test.create("Fast", object) }
        #expect(refused?.code == .serviceUnavailable, "\(String(describing: refused))")
        #expect(try await things.finish() == [.dropped])
        try await test.create("Fast", object)
        #expect(try await Self.states(test) == ["a2 valid"])
        let schema = try JSON(parsing: try await test.store.read { try $0.schema(of: "Fast") })
        #expect(schema["automaticIndexes"]?["auto_title"]?["state"] == "unwanted")
    }

    @Test func longValuesGetNoIndex() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        try await test.create("Fast", ["title": Self.long()])
        try await things.wish(["title"])
        #expect(try await things.finish() == [.unfit("auto_title"), .dropped])
        #expect(try await Self.states(test) == [])
        try await test.create("Fast", ["title": Self.long()])
    }

    /// A count of all objects uses only an index of their times, which includes their read access.
    @Test func countingLooksAtNoObjects() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        try await things.wish(["createdAt"])
        try await things.finish()
        let definition = try await test.store.read { reader in
            try reader.rows("SELECT pg_get_indexdef(to_regclass('a1')) AS text")[0].text("text")
        }
        #expect(definition.hasSuffix("(createdat, id) INCLUDE (publicread)"), "\(definition)")
    }
}

import ParseProtocol
import Synchronization

/// The shapes that the readers of a process found costly. Only those of the writer's own process become indexes: with
/// replicas it sees its share of all reads, which is as good a sample.
package final class ShapeLog: Sendable {
    private let table = Mutex(ShapeTable())

    package init() {}

    func note(_ shape: QueryShape, cost: Int, by caller: Caller) {
        let name = caller.network.isEmpty ? caller.userId ?? "" : caller.network
        let asker = caller.isOperator ? ShapeTable.Asker.shop : .network(name.hashValue)
        table.withLock { $0.note(shape, cost: cost, by: asker, at: TimeLimit.monotonic) }
    }

    /// What is worth an index now.
    package var wanted: [QueryShape: ShapeTable.Use] { table.withLock { $0.wanted(at: TimeLimit.monotonic) } }

    private let hearer = Mutex<(@Sendable (Set<Int64>) -> Void)?>(nil)

    /// - Parameter hearer: told of automatic indexes because of which a save was refused, on the writer's thread.
    func whenOvergrown(_ hearer: @escaping @Sendable (Set<Int64>) -> Void) { self.hearer.withLock { $0 = hearer } }

    func noteOvergrown(_ ids: Set<Int64>) { hearer.withLock { $0 }?(ids) }

    package func forget(_ shapes: Set<QueryShape>) { table.withLock { $0.forget { shapes.contains($0) } } }
}

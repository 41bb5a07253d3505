import ParseProtocol
import Synchronization

/// The shapes of costly queries in this process. Only shapes in the writer's own process become indexes: with several
/// replicas it still sees a representative part of all reads.
package final class ShapeLog: Sendable {
    private let table = Mutex(ShapeTable())

    package init() {}

    func note(_ shape: QueryShape, cost: Int, by caller: Caller) {
        let name = caller.network.isEmpty ? caller.userId ?? "" : caller.network
        let asker = caller.isOperator ? ShapeTable.Asker.shop : .network(name.hashValue)
        table.withLock { $0.note(shape, cost: cost, by: asker, at: TimeLimit.monotonic) }
    }

    /// The shapes that are currently worth an index.
    package var wanted: [QueryShape: ShapeTable.Use] { table.withLock { $0.wanted(at: TimeLimit.monotonic) } }

    private let hearer = Mutex<(@Sendable (Set<Int64>) -> Void)?>(nil)

    /// - Parameter hearer: called on the writer's thread with the automatic indexes that caused a refused save.
    func whenOvergrown(_ hearer: @escaping @Sendable (Set<Int64>) -> Void) { self.hearer.withLock { $0 = hearer } }

    func noteOvergrown(_ ids: Set<Int64>) { hearer.withLock { $0 }?(ids) }

    package func forget(_ shapes: Set<QueryShape>) { table.withLock { $0.forget { shapes.contains($0) } } }
}

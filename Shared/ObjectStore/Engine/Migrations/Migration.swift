/// One numbered change of a service's file: done once, in a transaction of its own, by the first writer that knows it.
///
/// An entry that was released is never changed, renamed or removed, because files record it by its number and name. A
/// further change of the same table is a further entry (docs/upgrading.md).
public struct Migration: Sendable {
    enum Change: Sendable {
        case statements(@Sendable (Dialect) -> [String])
        case code(@Sendable (StoreTransaction) throws -> Void)
    }

    /// Its place in the list, from 1.
    let number: Int
    /// Its subject, in letters and digits.
    let name: String
    let change: Change

    /// A change that SQL can say.
    /// - Parameter statements: run in their order. Only the first migration of a list makes what may be there already
    ///   (`IF NOT EXISTS`).
    public init(_ number: Int, _ name: String, _ statements: [String]) {
        self.number = number
        self.name = name
        change = .statements { _ in statements }
    }

    /// A change that SQL can say, where the engines need different words (docs/sql.md).
    /// - Parameter statements: what to run for an engine, in its order. What SQLite gets stays as it was released.
    public init(_ number: Int, _ name: String, statements: @escaping @Sendable (Dialect) -> [String]) {
        self.number = number
        self.name = name
        change = .statements(statements)
    }

    /// A change that needs code.
    /// - Parameter code: sees the classes as the file has them, which in a new file are none. What it asks to be done
    ///   after the commit is not done. What it throws undoes it and ends the start.
    public init(_ number: Int, _ name: String, code: @escaping @Sendable (StoreTransaction) throws -> Void) {
        self.number = number
        self.name = name
        change = .code(code)
    }
}

/// The migrations of one owner of tables in a file, oldest first: the object store's, the service kit's or a service's.
public struct Migrations: Sendable {
    struct Step: Sendable {
        let identifier: String
        let change: Migration.Change
    }

    let steps: [Step]

    /// - Parameters:
    ///   - owner: first part of what files record, such as `bag` in `bag.2.orderStates`.
    ///   - list: numbered from 1 without a gap. Another order is a mistake in the code and ends the process.
    public init(_ owner: String, _ list: [Migration]) {
        for (index, migration) in list.enumerated() {
            precondition(
                migration.number == index + 1, "Migration \(migration.number) of \(owner) stands at place \(index + 1)."
            )
        }
        steps = list.map { Step(identifier: "\(owner).\($0.number).\($0.name)", change: $0.change) }
    }

    /// The names under which a file records them, oldest first.
    public var identifiers: [String] { steps.map(\.identifier) }
}

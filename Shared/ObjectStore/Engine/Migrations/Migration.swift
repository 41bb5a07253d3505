/// One numbered change of a service's database. The first writer that has it runs it once, in its own transaction.
///
/// Never change, rename or remove a released entry, because databases record it by its number and name. A further
/// change of the same table is a new entry (docs/guides/upgrading.md).
public struct Migration: Sendable {
    enum Change: Sendable {
        case statements(@Sendable (Dialect) -> [String])
        case code(@Sendable (StoreTransaction) throws -> Void)
    }

    /// Its position in the list, from 1.
    let number: Int
    /// Its subject, in letters and digits.
    let name: String
    let change: Change

    /// A change in SQL.
    /// - Parameter statements: run in this order. Only the first migration of a list may use `IF NOT EXISTS`, for
    ///   tables that may exist already.
    public init(_ number: Int, _ name: String, _ statements: [String]) {
        self.number = number
        self.name = name
        change = .statements { _ in statements }
    }

    /// A change in SQL that differs between the engines (docs/internals/sql.md).
    /// - Parameter statements: returns the statements for an engine, in their order. SQLite's must stay as they were
    ///   released.
    public init(_ number: Int, _ name: String, statements: @escaping @Sendable (Dialect) -> [String]) {
        self.number = number
        self.name = name
        change = .statements(statements)
    }

    /// A change in code.
    /// - Parameter code: sees the classes as the database has them; a new database has none. Actions that it registers
    ///   for after the commit are not run. If it throws, its changes are rolled back and startup aborts.
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
    ///   - owner: first part of the recorded identifiers, such as `bag` in `bag.2.orderStates`.
    ///   - list: numbered from 1 without a gap. Another order is a programming error and ends the process.
    public init(_ owner: String, _ list: [Migration]) {
        for (index, migration) in list.enumerated() {
            precondition(
                migration.number == index + 1, "Migration \(migration.number) of \(owner) stands at place \(index + 1)."
            )
        }
        steps = list.map { Step(identifier: "\(owner).\($0.number).\($0.name)", change: $0.change) }
    }

    /// The identifiers under which a database records them, oldest first.
    public var identifiers: [String] { steps.map(\.identifier) }
}

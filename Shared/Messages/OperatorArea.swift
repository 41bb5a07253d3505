/// An area of the shop's operation, and the role whose members run it. The table in `docs/guides/dashboard.md` lists
/// what each area may do.
///
/// The role names are reserved: `users` creates the roles, and only the master key and the admins may add members.
public enum OperatorArea: String, CaseIterable, Sendable {
    /// Products, brands, stores, pages, photos, moderation of reviews.
    case catalog
    /// Orders after checkout, refunds included, and charges.
    case orders
    /// Reads orders, moderates reviews, ends customers' sessions, resends mails.
    case support
    /// Schemas, functions on other hosts, jobs, logs, Config, indexes, crash issues, analytics.
    case developers
    /// All rights of an operator.
    case admins

    /// The name of the role whose members run the area.
    public var role: String {
        switch self {
        case .catalog: "catalog-editors"
        case .orders: "order-desk"
        case .support: "support"
        case .developers: "developers"
        case .admins: adminsRole
        }
    }

    /// The names of all such roles.
    public static let roles = Set(allCases.map(\.role))
}

extension Principal {
    /// The areas that the principal runs: all for the master key and admins, none for a restricted session.
    public var areas: Set<OperatorArea> {
        if isAdmin { return Set(OperatorArea.allCases) }
        return restricted ? [] : Set(OperatorArea.allCases.filter { roles.contains($0.role) })
    }

    /// Whether the principal runs one of the areas. No other code decides this.
    public func runs(_ areas: [OperatorArea]) -> Bool {
        isAdmin || !restricted && areas.contains { roles.contains($0.role) }
    }
}

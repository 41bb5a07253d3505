/// A part of the shop's desk and the role whose members run it. `docs/dashboard.md` has the table of what each may do.
///
/// The names of the roles are reserved: `users` makes them, and only the master key and the admins put somebody in.
public enum OperatorArea: String, CaseIterable, Sendable {
    /// Products, brands, stores, pages, photos, moderation of reviews.
    case catalog
    /// What becomes of orders, refunds included, and the charges.
    case orders
    /// Reads orders, moderates reviews, ends customers' sessions, sends mails again.
    case support
    /// Schemas, functions at other hosts, jobs, logs, Config, indexes, crash issues, analytics.
    case developers
    /// Everything that an operator can do.
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
    /// The areas that are the principal's: all of the master key's and of an admin, none of a restricted session.
    public var areas: Set<OperatorArea> {
        if isAdmin { return Set(OperatorArea.allCases) }
        return restricted ? [] : Set(OperatorArea.allCases.filter { roles.contains($0.role) })
    }

    /// Whether one of the areas is the principal's: the only place that decides it.
    public func runs(_ areas: [OperatorArea]) -> Bool {
        isAdmin || !restricted && areas.contains { roles.contains($0.role) }
    }
}

import ParseProtocol

/// The ACL of an object (PARSE_PROTOCOL section 6), validated.
struct AccessControl: Equatable {
    struct Rights: Equatable {
        var read = false
        var write = false
    }

    /// Rights by principal: `*`, a user's objectId or `role:<name>`. Nil: no ACL, so the object is public.
    var entries: [String: Rights]?

    static let entriesMax = 1000

    /// - Throws: `.invalidACL` (123) for anything but an object of `{principal: {"read": bool, "write": bool}}`.
    init(_ value: JSON?) throws {
        switch value {
        case nil, .null: entries = nil
        case .object(let members):
            guard members.count <= AccessControl.entriesMax else { throw AccessControl.invalid }
            var entries: [String: Rights] = [:]
            for (principal, granted) in members {
                guard principal == "*" || PrincipalName.isRoleOrUser(principal), case .object(let rights) = granted
                else { throw AccessControl.invalid }
                var entry = Rights()
                for (right, value) in rights {
                    guard let isGranted = value.boolValue else { throw AccessControl.invalid }
                    switch right {
                    case "read": entry.read = isGranted
                    case "write": entry.write = isGranted
                    default: throw AccessControl.invalid
                    }
                }
                if entry != Rights() { entries[principal] = entry }
            }
            self.entries = entries
        default: throw AccessControl.invalid
        }
    }

    private static let invalid = ParseError(.invalidACL, "Invalid ACL.")

    var publicRead: Bool { entries.map { $0["*"]?.read ?? false } ?? true }
    var publicWrite: Bool { entries.map { $0["*"]?.write ?? false } ?? true }

    /// Decides about a decoded document, as `CallerKind.condition` does in SQL.
    func allowsReading(_ caller: Caller) -> Bool {
        caller.isMaster || publicRead || caller.grants.contains { entries?[$0]?.read == true }
    }

    /// The entries that need their own row: all except `*`.
    var principals: [(name: String, rights: Rights)] {
        guard let entries else { return [] }
        return entries.filter { $0.key != "*" }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The form for clients: only granted rights; nil when there is no ACL.
    var wire: JSON? {
        entries.map { entries in
            .object(
                entries.mapValues { rights in
                    var members: [String: JSON] = [:]
                    if rights.read { members["read"] = true }
                    if rights.write { members["write"] = true }
                    return .object(members)
                })
        }
    }
}

/// The form of a caller's statements; one prepared statement serves all callers of a kind.
enum CallerKind: Hashable {
    case master, anonymous, user, userWithRoles

    init(_ caller: Caller) {
        if caller.isMaster {
            self = .master
        } else if !caller.roles.isEmpty {
            self = .userWithRoles
        } else {
            self = caller.userId == nil ? .anonymous : .user
        }
    }

    enum Right: String {
        case read = "Read"
        case write = "Write"
    }

    /// The condition that a row `p` of an ACL is the caller's; nil for a caller without such rows.
    func principal(_ dialect: Dialect) -> String? {
        switch self {
        case .master, .anonymous: nil
        case .user: "p.principal=?1"
        case .userWithRoles: "p.principal" + dialect.isIn("?2", as: .text)
        }
    }

    /// The condition that a row's ACL grants the right; nil when every row passes. Parameter 1 is the user's id,
    /// parameter 2 the JSON array of all grants.
    func condition(_ right: Right, of info: ClassInfo, row: String = "o") -> String? {
        guard let principal = principal(info.dialect) else {
            return self == .master ? nil : "\(row).public\(right.rawValue)"
        }
        return """
            (\(row).public\(right.rawValue) OR EXISTS(SELECT 1 FROM p\(info.id) p \
            WHERE \(principal) AND p.object=\(row).id AND p.can\(right.rawValue)))
            """
    }
}

extension Caller {
    /// Binds parameters 1 and 2 of `CallerKind.condition`.
    func bind(to statement: any StoreStatement) throws {
        guard !isMaster else { return }
        if let userId { try statement.bind(userId, at: 1) } else { try statement.bind(.null, at: 1) }
        if !roles.isEmpty { try statement.bind(utf8: JSON.array(grants.map(JSON.string)).serialized, at: 2) }
    }
}

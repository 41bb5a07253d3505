import ParseProtocol

/// Class-level permissions: the operations on a whole class that each caller may run (PARSE_PROTOCOL section 7.1).
///
/// Keys of the maps are `*`, `requiresAuthentication`, `role:<name>` or a user's objectId. For a class that is not
/// `.open`, an operation that grants nothing is for the master key only.
public struct ClassPermissions: Sendable, Hashable {
    /// The grant of one operation.
    public struct Operation: Sendable, Hashable {
        /// Principals with the grant; only `true` counts.
        public var principals: [String: Bool]
        /// Fields (a pointer to `_User`, or an array of them) whose users may act on that object.
        public var pointerFields: [String]

        /// A grant to `principals` and to the users in `pointerFields`; empty by default.
        public init(_ principals: [String: Bool] = [:], pointerFields: [String] = []) {
            self.principals = principals
            self.pointerFields = pointerFields
        }

        /// A grant to all callers.
        public static let everybody = Operation(["*": true])
        /// No grant. The master key needs none.
        public static let nobody = Operation()
        /// A grant to callers with a session.
        public static let signedIn = Operation(["requiresAuthentication": true])
        /// A grant to the members of a role and of the roles that inherit it.
        public static func role(_ name: String) -> Operation { roles([name]) }
        /// A grant to the members of each of the roles.
        public static func roles(_ names: [String]) -> Operation {
            Operation(Dictionary(names.map { ("role:\($0)", true) }) { first, _ in first })
        }
    }

    /// The operations that have separate permissions, by their names in the protocol.
    public enum Action: String, Sendable, CaseIterable {
        case find, count, get, create, update, delete, addField
    }

    /// The callers that have each action's grant. A missing action grants nothing, unless the class is `.open`.
    public var operations: [Action: Operation]
    /// Fields whose users may find, count and get that object.
    public var readUserFields: [String]
    /// Fields whose users may update and delete that object.
    public var writeUserFields: [String]
    /// Fields hidden from a group of callers: `*`, `authenticated`, `role:<name>`, a user's objectId or
    /// `userField:<field>`. A caller in several groups does not see the fields that all these groups hide. Whether a
    /// `userField:` group applies depends on the object, so it is applied when objects leave the store. Conditions and
    /// orders are checked against the other groups.
    public var protectedFields: [String: [String]]
    /// The only fields that other users see of readable users, besides `objectId`, the times and the ACL. Nil: all
    /// fields that are not protected. A listed `username` is shown unless it is an e-mail address.
    public var displayFields: [String]?
    /// The ACL of a new object that is created without one, in wire form; `currentUser` in it stands for the creating
    /// user. Nil for a public ACL.
    var defaultACL: JSON?
    /// The class has no class-level permissions: everything is public.
    var isOpen: Bool

    /// Permissions that consist only of the given grants.
    public init(
        find: Operation = .nobody, count: Operation = .nobody, get: Operation = .nobody, create: Operation = .nobody,
        update: Operation = .nobody, delete: Operation = .nobody, addField: Operation = .nobody,
        readUserFields: [String] = [], writeUserFields: [String] = [], protectedFields: [String: [String]] = [:]
    ) {
        operations = [
            .find: find, .count: count, .get: get, .create: create, .update: update, .delete: delete,
            .addField: addField,
        ]
        self.readUserFields = readUserFields
        self.writeUserFields = writeUserFields
        self.protectedFields = protectedFields
        defaultACL = nil
        isOpen = false
    }

    /// All callers may do everything, as in a class without permissions.
    public static let open: ClassPermissions = {
        var permissions = ClassPermissions()
        permissions.operations = [:]
        permissions.isOpen = true
        return permissions
    }()

    /// Only the master key, which Satchel itself uses.
    public static let masterOnly = ClassPermissions()

    /// All callers read. Only admins and members of `others` create, update and delete; only admins add fields.
    public static func adminWritten(and others: [String] = []) -> ClassPermissions {
        let writers = Operation.roles(["admins"] + others)
        return ClassPermissions(
            find: .everybody, count: .everybody, get: .everybody, create: writers, update: writers, delete: writers,
            addField: .role("admins"))
    }

    /// Only members of the roles read; only the master key writes.
    public static func seen(by roles: [String]) -> ClassPermissions {
        let readers = Operation.roles(roles)
        return ClassPermissions(find: readers, count: readers, get: readers)
    }

    /// Only members of the roles read and write; only the master key adds fields.
    public static func kept(by roles: [String]) -> ClassPermissions {
        let keepers = Operation.roles(roles)
        return ClassPermissions(
            find: keepers, count: keepers, get: keepers, create: keepers, update: keepers, delete: keepers)
    }

    /// The grant for an action. A missing action is granted to all callers in an open class, else to none.
    public subscript(action: Action) -> Operation {
        get { operations[action] ?? (isOpen ? .everybody : .nobody) }
        set { operations[action] = newValue }
    }

    /// The ACL of a new object that is created without one; nil for a public ACL.
    func initialACL(of creator: Caller) -> JSON? {
        guard case .object(var entries)? = defaultACL else { return nil }
        if let own = entries.removeValue(forKey: "currentUser"), let userId = creator.userId { entries[userId] = own }
        let acl = JSON.object(entries)
        return acl == ["*": ["read": true, "write": true]] ? nil : acl
    }

    /// A copy that hides these fields.
    public func protecting(_ fields: [String: [String]]) -> ClassPermissions {
        var copy = self
        copy.protectedFields = fields
        return copy
    }

    /// A copy with this list of the only fields that other users see.
    public func showing(only fields: [String]?) -> ClassPermissions {
        var copy = self
        copy.displayFields = fields
        return copy
    }
}

// MARK: - Decisions

extension ClassPermissions {
    enum Decision: Equatable {
        case allowed
        /// Allowed for objects where one of these fields names the caller. A caller without a session matches no
        /// object.
        case whereUserIs(in: [String])
    }

    /// Decides before any object is read or written.
    /// - Throws: `.operationForbidden` (119) when denied, `.objectNotFound` (101) when signing in would help.
    func decide(_ action: Action, _ caller: Caller, className: String) throws -> Decision {
        if caller.isMaster { return .allowed }
        let operation = self[action]
        if operation.principals["*"] == true { return .allowed }
        if caller.userId != nil, operation.principals["requiresAuthentication"] == true { return .allowed }
        if caller.grants.contains(where: { operation.principals[$0] == true }) { return .allowed }
        var fields = operation.pointerFields
        switch action {
        case .find, .count, .get: fields += readUserFields
        case .update, .delete: fields += writeUserFields
        case .addField: fields += writeUserFields
        case .create: fields = []
        }
        if caller.userId == nil, operation.principals["requiresAuthentication"] == true {
            throw ParseError(.objectNotFound, "Permission denied, user needs to be authenticated.")
        }
        // A field never names a caller without a session: no object matches.
        if !fields.isEmpty { return .whereUserIs(in: fields) }
        throw ParseError(
            .operationForbidden, "Permission denied for action \(action.rawValue) on class \(className).")
    }

    /// The fields that this caller may neither see nor use in queries.
    func hiddenFields(from caller: Caller) -> Set<String> { fieldsOfGroups(caller) ?? [] }

    /// The fields that the caller's groups hide; nil when the caller is in no group with hidden fields.
    func fieldsOfGroups(_ caller: Caller) -> Set<String>? {
        if caller.isMaster || protectedFields.isEmpty { return nil }
        var groups = caller.grants
        if caller.userId != nil { groups.append("authenticated") }
        let hidden = groups.compactMap { protectedFields[$0].map(Set.init) }
        guard let first = hidden.first else { return nil }
        return hidden.dropFirst().reduce(first) { $0.intersection($1) }
            .subtracting(["objectId", "createdAt", "updatedAt", "ACL"])
    }

    /// Whether the caller sees only `displayFields` of other users' objects. An operator exempts a role or a user with
    /// an empty list of protected fields.
    func showsDisplayFieldsOnly(to caller: Caller) -> Bool {
        displayFields != nil && !caller.isMaster
            && !caller.grants.contains { $0 != "*" && protectedFields[$0]?.isEmpty == true }
    }

    /// The fields that `userField:` groups hide from a user that the object's field names.
    func fieldsOfUserFields(_ caller: Caller) -> [(field: String, hides: Set<String>)] {
        guard caller.userId != nil, !caller.isMaster else { return [] }
        let prefix = "userField:"
        return protectedFields.compactMap { name, fields in
            name.hasPrefix(prefix) ? (String(name.dropFirst(prefix.count)), Set(fields)) : nil
        }
    }
}

// MARK: - Wire form

extension ClassPermissions {
    /// The stored form of the permissions; null when the class is open and hides nothing.
    var json: JSON {
        if isOpen, protectedFields.isEmpty { return .null }
        var members: [String: JSON] = ["open": .bool(isOpen)]
        for (action, operation) in operations {
            var grants = operation.principals.mapValues(JSON.bool)
            if !operation.pointerFields.isEmpty {
                grants["pointerFields"] = .array(operation.pointerFields.map(JSON.string))
            }
            members[action.rawValue] = .object(grants)
        }
        members["readUserFields"] = .array(readUserFields.map(JSON.string))
        members["writeUserFields"] = .array(writeUserFields.map(JSON.string))
        members["protectedFields"] = .object(protectedFields.mapValues { .array($0.map(JSON.string)) })
        members["displayFields"] = displayFields.map { .array($0.map(JSON.string)) }
        members["ACL"] = defaultACL
        return .object(members)
    }

    init(json: JSON) {
        guard let members = json.objectValue else {
            self = .open
            return
        }
        func strings(_ value: JSON?) -> [String] { value?.arrayValue?.compactMap(\.stringValue) ?? [] }
        self.init(
            readUserFields: strings(members["readUserFields"]), writeUserFields: strings(members["writeUserFields"]),
            protectedFields: members["protectedFields"]?.objectValue?.mapValues(strings) ?? [:])
        displayFields = members["displayFields"].map(strings)
        defaultACL = members["ACL"]
        isOpen = members["open"] == true
        operations = [:]
        for action in Action.allCases {
            guard let grants = members[action.rawValue]?.objectValue else { continue }
            operations[action] = Operation(
                grants.compactMapValues(\.boolValue), pointerFields: strings(grants["pointerFields"]))
        }
    }
}

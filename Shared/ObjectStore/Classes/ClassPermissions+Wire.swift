import ParseProtocol

extension ClassPermissions {
    /// `classLevelPermissions` in the protocol's form (PARSE_PROTOCOL section 7.1).
    /// - Parameter areGiven: whether an operator set them. Permissions that were never set show a `protectedFields`
    ///   group that hides nothing.
    func wire(areGiven: Bool) -> JSON {
        var members: [String: JSON] = [:]
        for action in Action.allCases {
            let operation = self[action]
            var grants = operation.principals.filter(\.value).mapValues(JSON.bool)
            if !operation.pointerFields.isEmpty {
                grants["pointerFields"] = .array(operation.pointerFields.map(JSON.string))
            }
            members[action.rawValue] = .object(grants)
        }
        if !readUserFields.isEmpty { members["readUserFields"] = .array(readUserFields.map(JSON.string)) }
        if !writeUserFields.isEmpty { members["writeUserFields"] = .array(writeUserFields.map(JSON.string)) }
        members["protectedFields"] =
            protectedFields.isEmpty && !areGiven
            ? ["*": []] : .object(protectedFields.mapValues { .array($0.map(JSON.string)) })
        members["ACL"] = defaultACL
        return .object(members)
    }

    /// Reads the permissions in an operator's request. A missing operation is for the master key only.
    /// - Parameter fields: the class's fields, to check the names of user fields.
    /// - Throws: `.invalidJSON` (107) for anything that the protocol does not define.
    init(wire: JSON, fields: [String: FieldType]) throws {
        // PHP writes an empty object as an empty array. A number also grants nothing; tests of the SDKs send one.
        let isNothing = wire == [] || wire.doubleValue != nil
        guard let members = isNothing ? [:] : wire.objectValue else {
            throw Self.invalid("class level permissions must be an object")
        }
        self.init()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "readUserFields": readUserFields = try Self.userFields(value, name, fields)
            case "writeUserFields": writeUserFields = try Self.userFields(value, name, fields)
            case "protectedFields": protectedFields = try Self.protected(value)
            case "ACL":
                guard case .object = value, (try? AccessControl(value)) != nil else {
                    throw Self.invalid("ACL must be an ACL")
                }
                defaultACL = value
            default:
                guard let action = Action(rawValue: name) else {
                    throw Self.invalid("\(name.prefix(64)) is not a valid operation for class level permissions")
                }
                operations[action] = try Self.operation(value, name, fields)
            }
        }
    }

    private static func operation(_ value: JSON, _ name: String, _ fields: [String: FieldType]) throws -> Operation {
        guard let grants = value.objectValue else { throw invalid("\(name) must be an object") }
        var operation = Operation()
        for (principal, grant) in grants {
            if principal == "pointerFields" {
                operation.pointerFields = try userFields(grant, name, fields)
                continue
            }
            guard isPrincipal(principal) else {
                throw invalid("'\(principal.prefix(64))' is not a valid key for class level permissions")
            }
            guard grant == true else {
                throw invalid("'\(principal.prefix(64))' must be true for class level permissions \(name)")
            }
            operation.principals[principal] = true
        }
        return operation
    }

    private static func isPrincipal(_ name: String) -> Bool {
        ["*", "requiresAuthentication"].contains(name) || PrincipalName.isRoleOrUser(name)
    }

    /// Names of fields that hold users: pointers to `_User`, or arrays.
    private static func userFields(_ value: JSON, _ name: String, _ fields: [String: FieldType]) throws -> [String] {
        let names = try strings(value, name)
        for field in names {
            switch fields[field] {
            case .pointer("_User"), .array: break
            default:
                throw invalid("'\(field.prefix(64))' is not a valid column for class level pointer permissions \(name)")
            }
        }
        return names
    }

    private static func protected(_ value: JSON) throws -> [String: [String]] {
        guard let groups = value.objectValue else { throw invalid("protectedFields must be an object") }
        return try groups.reduce(into: [:]) { result, group in
            let (name, fields) = group
            guard name == "authenticated" || name.hasPrefix("userField:") || isPrincipal(name) else {
                throw invalid("'\(name.prefix(64))' is not a valid key for protectedFields")
            }
            let names = try strings(fields, "protectedFields")
            for field in names where ["objectId", "createdAt", "updatedAt", "ACL"].contains(field) {
                throw invalid("Default field '\(field)' can not be protected")
            }
            result[name] = names
        }
    }

    private static func strings(_ value: JSON, _ name: String) throws -> [String] {
        guard let elements = value.arrayValue else { throw invalid("\(name) must be an array of field names") }
        let names = elements.compactMap(\.stringValue).filter(Names.isIdentifier)
        guard names.count == elements.count, names.count <= ClassInfo.fieldsMax else {
            throw invalid("\(name) must be an array of field names")
        }
        return names
    }

    private static func invalid(_ text: String) -> ParseError { ParseError(.invalidJSON, text) }
}

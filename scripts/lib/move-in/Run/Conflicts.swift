import Foundation
import ObjectStore
import ParseProtocol

/// What a dry run finds, by kind.
enum ConflictKind: String, CaseIterable, Sendable {
    case unreadable, reservedClass, reservedField, fieldType, badValue, price, badId, tooLarge, account, password
    case danglingPointer, deskRole, missingIndex

    /// Whether nothing must be mended before the switch.
    var isNote: Bool { [.danglingPointer, .deskRole, .missingIndex].contains(self) }

    var title: String {
        switch self {
        case .unreadable: "rows that cannot be read"
        case .reservedClass: "class names that Satchel does not take"
        case .reservedField: "field names that Satchel does not take"
        case .fieldType: "fields whose type differs from Satchel's"
        case .badValue: "values that Satchel does not take"
        case .price: "prices with more decimals than the currency has"
        case .badId: "ids that Satchel does not take"
        case .tooLarge: "objects over 128 KB"
        case .account: "users whose name or address is missing, or another's in other letters"
        case .password: "passwords that cannot be checked"
        case .danglingPointer: "pointers to objects that the source lacks"
        case .deskRole: "roles whose names grant rights in Satchel"
        case .missingIndex: "indexes that Satchel lacks"
        }
    }

    var remedy: String {
        switch self {
        case .unreadable: "Mend the source or make the dump again; a run lists such rows in move-in-refused.ndjson."
        case .reservedClass: "Give the class another name, or null to skip it, under \"classes\" of --map."
        case .reservedField: "Give the field another name, or null to skip it, under \"fields\" of --map."
        case .fieldType: "The shop's own code needs its type: rename your field under \"fields\" of --map."
        case .badValue: "Change the value on the old server, or skip the field (null) under \"fields\" of --map."
        case .price: "Change them on the old server, or round them by \"decimals\" of --map."
        case .badId: "An id is 1 to 64 letters, digits, _ and -. A run leaves these rows out and lists them."
        case .tooLarge: "Move large values into files on the old server, or skip the field under \"fields\" of --map."
        case .account: "Change or merge these users on the old server: names are compared without case."
        case .password: "The cost of bcrypt is at most 14: remove the hash, and let the user reset the password."
        case .danglingPointer: "They move as they are; an include leaves them out, as Parse Server does."
        case .deskRole: "A run leaves them out: invite their members here, or rename them on the old server."
        case .missingIndex: "Satchel indexes GeoPoints itself and makes indexes for frequent queries."
        }
    }
}

/// A finding of a dry run.
struct Conflict: Sendable, Equatable {
    var className: String
    var objectId: String?
    /// Where it is in the source; nil for what concerns a class as a whole.
    var place: SourcePlace?
    var text: String

    var description: String {
        let object = objectId.map { "\(className) \($0)" } ?? className
        return "\(object): \(text)" + (place.map { " (\($0))" } ?? "")
    }
}

/// The findings of a kind: their number and the first of them.
struct Finding: Sendable, Equatable {
    static let examplesMax = 5

    private(set) var count = 0
    private(set) var examples: [Conflict] = []

    mutating func add(_ conflict: Conflict) {
        count += 1
        if examples.count < Self.examplesMax { examples.append(conflict) }
    }
}

/// Finds what a switch would refuse, from the rows that a dry run reads.
///
/// Ids, pointers and names are remembered as hashes, 8 bytes each (`IdHash`). So repeated names and dangling pointers
/// are known only at the end, and a second look finds examples of them.
struct ConflictFinder: Sendable {
    private(set) var findings: [ConflictKind: Finding] = [:]
    /// Types of the suite's fields by class and field, in the form of `typeName`.
    private let types: [String: [String: String]]
    private var schemas: [String: MovedClass] = [:]
    private let minorUnits: Double
    private var ids: [String: HashSet] = [:]
    /// Targets by class of the target, then by field as `Class.field`.
    private var targets: [String: [String: HashSet]] = [:]
    private var names = HashSet(keepsRepeats: true), addresses = HashSet(keepsRepeats: true)

    /// Same as the store's limit of a document.
    private static let documentBytesMax = 131_072
    private static let depthMax = 40
    private static let costMax = 14
    private static let fixedFields: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL", "className", "__type"]

    /// - Parameters:
    ///   - schemas: the suite's classes, in the form of Parse's schema route.
    ///   - currency: the suite's.
    init(schemas: [JSON], currency: Currency = .standard) {
        minorUnits = Double(currency.minorUnitsOfOne)
        var types: [String: [String: String]] = [:]
        for schema in schemas {
            guard let name = schema["className"]?.stringValue else { continue }
            types[name] = (schema["fields"]?.objectValue ?? [:]).compactMapValues(Self.typeName(ofField:))
        }
        self.types = types
    }

    // MARK: - First look

    /// Takes a class under its name in Satchel.
    /// - Returns: whether its rows matter.
    mutating func take(_ schema: MovedClass) -> Bool {
        switch ClassKind(schema.name) {
        case .settings, .ignored: return false
        case .impossible:
            find(.reservedClass, schema.name, "The name is reserved or no identifier.")
            return false
        case .staged: break
        }
        schemas[schema.name] = schema
        for (field, type) in schema.fields.sorted(by: { $0.key < $1.key }) where !isOwn(field, schema.name) {
            if !Names.isFieldName(field) { find(.reservedField, schema.name, field) }
            if let own = types[schema.name]?[field], let old = Self.typeName(ofField: type), !Self.fits(old, own) {
                find(.fieldType, schema.name, "\(field) is \(old) there and \(own) here.")
            }
        }
        for index in schema.indexesLacking { find(.missingIndex, schema.name, index) }
        return true
    }

    mutating func take(_ refusal: RefusedRow) {
        add(
            .unreadable,
            Conflict(
                className: refusal.className, objectId: refusal.objectId, place: refusal.place, text: refusal.reason))
    }

    /// Takes a row under its class's name in Satchel.
    mutating func take(_ row: MovedRow, bytes: Int) {
        guard RowLine.isId(row.objectId, of: row.className) else { return find(.badId, row, row.objectId) }
        guard RelationName(row.className) == nil else { return }
        ids[row.className, default: HashSet()].insert(IdHash.of(row.objectId.utf8))
        if bytes > Self.documentBytesMax { find(.tooLarge, row, "It has \(bytes) bytes.") }
        let known = schemas[row.className]?.fields ?? [:]
        for (field, value) in row.fields where !isOwn(field, row.className) && !value.isNull {
            if known[field] == nil { check(field, value, ofUnknownFieldIn: row) }
            if let problem = Self.problem(value) { find(.badValue, row, "\(field): \(problem)") }
            // A run leaves sessions without a user out.
            guard row.className != "_Session" else { continue }
            switch value {
            case .array, .object: remember(value, "\(row.className).\(field)")
            default: break
            }
        }
        if row.className == "Product", case .double(let price)? = row.fields["unitPrice"],
            (price * minorUnits).rounded() / minorUnits != price
        {
            find(.price, row, "unitPrice: \(price)")
        }
        if row.className == "_User" { checkUser(row) }
        if let role = row.deskRole { find(.deskRole, row, role) }
    }

    private mutating func check(_ field: String, _ value: JSON, ofUnknownFieldIn row: MovedRow) {
        if !Names.isFieldName(field) { find(.reservedField, row, field) }
        if let own = types[row.className]?[field], let old = Self.typeName(ofValue: value), !Self.fits(old, own) {
            find(.fieldType, row, "\(field) is \(old) there and \(own) here.")
        }
    }

    private mutating func checkUser(_ row: MovedRow) {
        if let name = row.fields["username"]?.stringValue, !name.isEmpty {
            names.insert(Self.nameHash(name))
        } else {
            find(.account, row, "The user has no name.")
        }
        if let address = row.fields["email"]?.stringValue { addresses.insert(Self.nameHash(address)) }
        guard let hash = (row.fields["_hashed_password"] ?? row.fields["bcryptPassword"])?.stringValue else { return }
        let parts = hash.split(separator: "$")
        guard hash.utf8.count == 60, parts.count == 3, ["2a", "2b", "2y"].contains(parts[0]), let cost = Int(parts[1])
        else { return find(.password, row, "The hash is not bcrypt.") }
        if cost > Self.costMax { find(.password, row, "The hash has the cost \(cost).") }
    }

    /// Remembers the pointers in a value.
    private mutating func remember(_ value: JSON, _ field: String) {
        switch value {
        case .array(let elements): for element in elements { remember(element, field) }
        case .object(let members):
            if let target = value.pointerTarget {
                targets[target.className, default: [:]][field, default: HashSet()].insert(
                    IdHash.of(target.objectId.utf8))
            } else {
                for member in members.values { remember(member, field) }
            }
        default: break
        }
    }

    // MARK: - Second look

    /// What a second look searches for.
    struct Suspects: Sendable {
        /// Hashes of repeated names and addresses.
        var names: Set<UInt64> = [], addresses: Set<UInt64> = []
        /// Hashes of missing targets by field (`Class.field`) and by the class of the target.
        var targets: [String: [String: Set<UInt64>]] = [:]

        /// The classes that must be read again, under their names in Satchel.
        var classes: Set<String> {
            var classes = Set(targets.keys.compactMap { $0.split(separator: ".").first.map(String.init) })
            if !names.isEmpty || !addresses.isEmpty { classes.insert("_User") }
            return classes
        }
    }

    /// Ends the first look.
    mutating func suspects() -> Suspects {
        var suspects = Suspects()
        suspects.names = names.repeated()
        suspects.addresses = addresses.repeated()
        for (className, fields) in targets {
            var present = ids[className] ?? HashSet()
            for (field, hashes) in fields {
                var hashes = hashes
                let missing = hashes.missing(in: &present)
                if !missing.isEmpty { suspects.targets[field, default: [:]][className] = missing }
            }
        }
        (ids, targets) = ([:], [:])
        return suspects
    }

    mutating func lookAgain(_ row: MovedRow, for suspects: Suspects) {
        for (field, value) in row.fields {
            if let missing = suspects.targets["\(row.className).\(field)"] { look(value, field, row, missing) }
        }
        guard row.className == "_User" else { return }
        for (field, repeated) in [("username", suspects.names), ("email", suspects.addresses)] {
            if let name = row.fields[field]?.stringValue, repeated.contains(Self.nameHash(name)) {
                find(.account, row, "Several users have the \(field) \(name), apart from case.")
            }
        }
    }

    private mutating func look(_ value: JSON, _ field: String, _ row: MovedRow, _ missing: [String: Set<UInt64>]) {
        switch value {
        case .array(let elements): for element in elements { look(element, field, row, missing) }
        case .object(let members):
            guard let target = value.pointerTarget else {
                for member in members.values { look(member, field, row, missing) }
                return
            }
            if missing[target.className]?.contains(IdHash.of(target.objectId.utf8)) == true {
                find(.danglingPointer, row, "\(field) points to \(target.className) \(target.objectId).")
            }
        default: break
        }
    }

    // MARK: - Parts

    private mutating func find(_ kind: ConflictKind, _ row: MovedRow, _ text: String) {
        add(kind, Conflict(className: row.className, objectId: row.objectId, place: row.place, text: text))
    }

    private mutating func find(_ kind: ConflictKind, _ className: String, _ text: String) {
        add(kind, Conflict(className: className, text: text))
    }

    private mutating func add(_ kind: ConflictKind, _ conflict: Conflict) {
        findings[kind, default: Finding()].add(conflict)
    }

    /// Whether a service reads the field under its name in Parse Server's storage, or every object has it.
    private func isOwn(_ field: String, _ className: String) -> Bool {
        Self.fixedFields.contains(field) || field.hasPrefix("_") && ["_User", "_Session"].contains(className)
    }

    /// The form in which Satchel compares names, as in `AccountNames.folded` of Services/Users.
    private static func nameHash(_ name: String) -> UInt64 {
        let folded = FoldedLetters.folded(name) { part in
            part.precomposedStringWithCompatibilityMapping.lowercased().uppercased().lowercased()
                .precomposedStringWithCompatibilityMapping
        }
        return IdHash.of(folded.utf8)
    }

    /// Why the store would refuse a value; nil when it would not.
    private static func problem(_ value: JSON) -> String? {
        guard !value.isNested(deeperThan: depthMax - 1) else { return "It is nested deeper than \(depthMax) levels." }
        do {
            _ = try WireValue.normalized(value)
            return nil
        } catch {
            return (error as? ParseError)?.message ?? "\(error)"
        }
    }

    private static func typeName(ofField field: JSON) -> String? {
        guard let type = field["type"]?.stringValue else { return nil }
        if field["alsoText"] == true { return numberOrText }
        return field["targetClass"]?.stringValue.map { "\(type)<\($0)>" } ?? type
    }

    private static func typeName(ofValue value: JSON) -> String? {
        switch value {
        case .null: nil
        case .bool: "Boolean"
        case .int, .double: "Number"
        case .string: "String"
        case .array: "Array"
        case .object:
            if let target = value.pointerTarget {
                "Pointer<\(target.className)>"
            } else {
                value.wireType == "Relation" ? nil : value.wireType ?? "Object"
            }
        }
    }

    private static let numberOrText = "Number or String"

    private static func fits(_ old: String, _ own: String) -> Bool {
        old == own || own == numberOrText && ["Number", "String"].contains(old)
    }
}

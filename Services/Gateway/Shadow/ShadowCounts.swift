import ParseProtocol

/// The result of comparing the responses of both servers about one class: numbers and some ids, never values.
package struct ShadowCounts: Sendable {
    /// The values of one field.
    package struct Field: Sendable {
        package var equal = 0
        package var different = 0
        package var missingHere = 0
        package var missingThere = 0
        /// Some of the objects with a difference.
        package var objectIds: [String] = []

        var differences: Int { different + missingHere + missingThere }
    }

    private enum Verdict { case equal, different, missingHere, missingThere }

    package var reads = 1
    /// Queries with `order` whose responses have the same objects in another order.
    package var otherOrder = 0
    /// Queries with another `count`.
    package var otherCount = 0
    /// By name. `objectId` stands for the whole object.
    package var fields: [String: Field] = [:]
    package var excused: [ShadowRule: Int] = [:]

    package static let objectIdsMax = 5
    /// Fields by name. Counts of further fields, and of names that no field can have, are under `otherFields`.
    private static let fieldsMax = 1000
    package static let otherFields = "*"

    /// Compares two responses to a question.
    /// - Parameter there: the old server's; null when it does not have the object.
    /// - Returns: nil when one of them is no response to the question.
    package init?(_ question: ShadowQuestion, here: JSON, there: JSON) {
        guard let ours = Answer(here, question), let theirs = Answer(there, question) else { return nil }
        if ours.count != theirs.count { otherCount = 1 }
        let isCut = question.skip > 0 || max(ours.ids.count, theirs.ids.count) >= question.limit
        let isExcused = question.objectId == nil && !question.isOrdered && isCut
        for id in ours.ids {
            if let one = ours.objects[id], let other = theirs.objects[id] {
                note("objectId", .equal, id)
                compare(one, other, id, question.className)
            } else if isExcused {
                excuse(.order)
            } else {
                note("objectId", .missingThere, id)
            }
        }
        for id in theirs.ids where ours.objects[id] == nil {
            if isExcused { excuse(.order) } else { note("objectId", .missingHere, id) }
        }
        if ours.ids.filter({ theirs.objects[$0] != nil }) != theirs.ids.filter({ ours.objects[$0] != nil }) {
            if question.isOrdered { otherOrder = 1 } else { excuse(.order) }
        }
    }

    package var differences: Int { fields.values.reduce(otherOrder + otherCount) { $0 + $1.differences } }

    /// Whether neither response shows that the class exists.
    var isEmpty: Bool { fields.isEmpty && differences == 0 && excused.isEmpty }

    mutating func add(_ other: ShadowCounts) {
        reads += other.reads
        otherOrder += other.otherOrder
        otherCount += other.otherCount
        excused.merge(other.excused, uniquingKeysWith: +)
        for (name, added) in other.fields {
            let name = fields[name] != nil || fields.count < Self.fieldsMax ? name : Self.otherFields
            var field = fields[name] ?? Field()
            field.equal += added.equal
            field.different += added.different
            field.missingHere += added.missingHere
            field.missingThere += added.missingThere
            for id in added.objectIds where field.objectIds.count < Self.objectIdsMax && !field.objectIds.contains(id) {
                field.objectIds.append(id)
            }
            fields[name] = field
        }
    }

    func json(of className: String) -> JSON {
        let listed = fields.sorted { $0.key < $1.key }.map { name, field -> JSON in
            [
                "name": .string(name), "equal": .int(Int64(field.equal)), "different": .int(Int64(field.different)),
                "missingHere": .int(Int64(field.missingHere)), "missingThere": .int(Int64(field.missingThere)),
                "objectIds": .array(field.objectIds.map(JSON.string)),
            ]
        }
        let byRule = excused.map { ($0.key.rawValue, JSON.int(Int64($0.value))) }
        return [
            "className": .string(className), "reads": .int(Int64(reads)), "otherOrder": .int(Int64(otherOrder)),
            "otherCount": .int(Int64(otherCount)), "fields": .array(listed),
            "excused": .object(Dictionary(uniqueKeysWithValues: byRule)),
        ]
    }

    // MARK: - Comparison

    private mutating func compare(_ ours: [String: JSON], _ theirs: [String: JSON], _ id: String, _ className: String) {
        for name in Set(ours.keys).union(theirs.keys) where name != "objectId" {
            switch (ours[name], theirs[name]) {
            case (let one?, let other?):
                var rules: Set<ShadowRule> = []
                if name == "updatedAt", one != other {
                    excuse(.updatedAt)
                } else if Self.isSame(one, other, &rules) {
                    note(name, .equal, id)
                    for rule in rules { excuse(rule) }
                } else {
                    note(name, .different, id)
                }
            case (_?, nil):
                if Self.isAdded(name, className) { excuse(.addedField) } else { note(name, .missingThere, id) }
            case (nil, _): note(name, .missingHere, id)
            }
        }
    }

    /// Whether two values are the same by the rules.
    /// - Parameter rules: receives the rules that excuse a difference.
    private static func isSame(_ one: JSON, _ other: JSON, _ rules: inout Set<ShadowRule>) -> Bool {
        switch (one, other) {
        case (.array(let ours), .array(let theirs)):
            guard ours.count == theirs.count else { return false }
            for (one, other) in zip(ours, theirs) {
                guard isSame(one, other, &rules) else { return false }
            }
            return true
        case (.object(let ours), .object(let theirs)):
            if one == other { return true }
            if one.wireType == "File", other.wireType == "File" {
                // `FileLinks` adds the URLs to most of our responses later.
                if one["url"] != nil, other["url"] != nil { rules.insert(.fileURL) }
                return one["name"] == other["name"]
            }
            // An object behind a pointer, which the read included.
            let included = one.wireType == "Object" ? one["className"]?.stringValue : nil
            for name in Set(ours.keys).union(theirs.keys) {
                switch (ours[name], theirs[name]) {
                case (let one?, let other?):
                    if included != nil, name == "updatedAt", one != other {
                        rules.insert(.updatedAt)
                    } else if !isSame(one, other, &rules) {
                        return false
                    }
                case (_?, nil):
                    guard let included, isAdded(name, included) else { return false }
                    rules.insert(.addedField)
                case (nil, _): return false
                }
            }
            return true
        default: return one == other
        }
    }

    private static func isAdded(_ field: String, _ className: String) -> Bool {
        ShadowRule.addedFields[className]?.contains(field) ?? false
    }

    private mutating func excuse(_ rule: ShadowRule) { excused[rule, default: 0] += 1 }

    private mutating func note(_ name: String, _ verdict: Verdict, _ id: String) {
        let name = Names.isIdentifier(name) ? name : Self.otherFields
        var field = fields[name] ?? Field()
        switch verdict {
        case .equal: field.equal += 1
        case .different: field.different += 1
        case .missingHere: field.missingHere += 1
        case .missingThere: field.missingThere += 1
        }
        if verdict != .equal, field.objectIds.count < Self.objectIdsMax, Names.isObjectId(id),
            !field.objectIds.contains(id)
        {
            field.objectIds.append(id)
        }
        fields[name] = field
    }

    /// The objects of a response.
    private struct Answer {
        var ids: [String] = []
        var objects: [String: [String: JSON]] = [:]
        let count: Int64?

        init?(_ json: JSON, _ question: ShadowQuestion) {
            count = question.objectId == nil ? json["count"]?.intValue : nil
            let list: [JSON]
            if question.objectId != nil {
                list = json.isNull ? [] : [json]
            } else {
                guard let results = json["results"]?.arrayValue else { return nil }
                list = results
            }
            for object in list {
                guard let members = object.objectValue, let id = members["objectId"]?.stringValue else { return nil }
                ids.append(id)
                objects[id] = members
            }
        }
    }
}

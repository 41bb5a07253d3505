import ParseProtocol

/// Relations, texts and points: the parts of a condition that a special index answers.
extension ConditionCompiler {
    mutating func related(to value: JSON) throws -> String {
        guard let owner = value["object"], let key = value["key"]?.stringValue, Names.isIdentifier(key) else {
            throw ParseError(.invalidQuery, "Bad $relatedTo format - use an object and a key.")
        }
        // An object that was never saved, such as a clone, has no id and no related objects.
        if owner.wireType == "Pointer", owner["className"]?.stringValue != nil, owner["objectId"]?.isNull ?? true {
            return "FALSE"
        }
        guard let object = owner.pointerTarget else {
            throw ParseError(.invalidQuery, "Bad $relatedTo format - use an object and a key.")
        }
        // The result depends on the caller's current read rights.
        isCacheable = false
        guard let classId = try relation(object.className, object.objectId, key) else { return "FALSE" }
        return """
            o.objectId IN (SELECT target FROM relations \
            WHERE class=\(classId) AND key=\(bind(.text(key))) AND owner=\(bind(.text(object.objectId))))
            """
    }

    mutating func searchText(_ operand: JSON, _ place: FieldPlace) throws -> [ConditionPart] {
        guard let search = operand["$search"], case .object = search else {
            throw ParseError(.invalidJSON, "bad $text: $search, should be object")
        }
        guard let term = search["$term"]?.stringValue else {
            throw ParseError(.invalidJSON, "bad $text: $term, should be string")
        }
        func flag(_ name: String) throws -> Bool {
            guard let value = search[name], !value.isNull else { return false }
            guard let isSensitive = value.boolValue else {
                throw ParseError(.invalidJSON, "bad $text: \(name), should be boolean")
            }
            return isSensitive
        }
        let words = try WordSearch(
            term, isCaseSensitive: flag("$caseSensitive"), isDiacriticSensitive: flag("$diacriticSensitive"))
        // Words are compared as written, in every language: there are no stems and no stop words.
        if let language = search["$language"], language.stringValue == nil {
            throw ParseError(.invalidJSON, "bad $text: $language, should be string")
        }
        let path = place.path
        guard place.isOwn, !path.isDotted else {
            throw ParseError(.invalidQuery, "$text is only possible with a field of the class itself.")
        }
        guard textScore == nil else { throw ParseError(.invalidQuery, "A query can have one $text search.") }
        guard info.fields[path.root] == .string else {
            textScore = info.dialect == .sqlite ? "NULL" : "NULL::float8"
            return [ConditionPart(sql: "FALSE")]
        }
        if info.dialect != .sqlite { return try searchText(words, path) }
        let text = info.dialect.value(path, as: .text, in: "o.doc")
        let score = "satchel_word_score(\(bind(.text(words.specification))),\(text))"
        textScore = score
        guard let column = info.textColumn(of: path.root) else {
            return [ConditionPart(sql: "\(score) IS NOT NULL")]
        }
        // The index finds the candidates; the text decides where the search is more exact than the index.
        let candidates = """
            o.id IN (SELECT rowid FROM w\(info.id) WHERE w\(info.id) \
            MATCH \(bind(.text(words.candidates(column: column)))))
            """
        let found = ConditionPart(sql: candidates, term: IndexTerm(row: "o", column: "id", kind: .rows))
        return words.isSensitive ? [found, ConditionPart(sql: "\(score) IS NOT NULL")] : [found]
    }

    /// The search in PostgreSQL. The words of indexed fields are in `w<id>` without case and diacritics. For other
    /// fields and for sensitive searches, words are computed from the text.
    private mutating func searchText(_ search: WordSearch, _ path: FieldPath) throws -> [ConditionPart] {
        let column = info.textColumn(of: path.root)
        let text = info.dialect.value(path, as: .text, in: "o.doc")
        var tokens = "satchel_words(\(text),\(search.isCaseSensitive),\(search.isDiacriticSensitive))"
        if let column, !search.isSensitive {
            tokens = "(SELECT w.c\(column) FROM w\(info.id) w WHERE w.id=o.id)"
        }
        let lists = search.lists.map { bind(.text($0), as: .texts) }.joined(separator: ",")
        let score = "satchel_word_score(\(tokens),\(lists))"
        textScore = score
        let ranked = ConditionPart(sql: "\(score) IS NOT NULL")
        guard let column else { return [ranked] }
        let words = (search.phrases.isEmpty ? search.words : search.phrases).flatMap(WordSearch.indexed)
        let found: String
        if words.isEmpty {
            // An empty search does not use the index.
            found = search.phrases.isEmpty ? "FALSE" : "TRUE"
        } else {
            let wanted = bind(.text(WordSearch.list(words)), as: .texts)
            found = "c\(column) \(search.phrases.isEmpty ? "&&" : "@>") \(wanted)"
        }
        let candidates = "o.id IN (SELECT id FROM w\(info.id) WHERE \(found))"
        return [ConditionPart(sql: candidates, term: IndexTerm(row: "o", column: "id", kind: .rows)), ranked]
    }

    /// Compiles a `$nearSphere`. A class has at most one point field, so there cannot be a second `$nearSphere` at the
    /// top.
    ///
    /// Inside `$or`, `$and` and `$nor` it cannot sort; when rows are only counted it limits the distance.
    /// - Returns: a condition that matches nothing when the field has no points.
    mutating func searchNear(
        _ operand: JSON, _ subject: QuerySubject, siblings: [String: JSON], _ depth: Int
    ) throws -> [ConditionPart] {
        guard depth == 0 || isCounting else {
            throw ParseError(
                .invalidQuery,
                "$nearSphere is only possible at the top of a query, not in $or, $and or $nor, unless it counts.")
        }
        try subject.requireWholeField("$nearSphere")
        guard subject.row == "o" else {
            throw ParseError(.invalidQuery, "$nearSphere is only possible with a field of the class itself.")
        }
        let query = try NearQuery(operand, subject, siblings: siblings, &self)
        // A find with the same condition would be refused, so the two must not share a cached query.
        if depth > 0 { isCacheable = false }
        guard subject.kind == .json(.geoPoint) else { return [ConditionPart(sql: "FALSE")] }
        if depth > 0 { return split(query.condition(info, &self), subject) }
        near = query
        return query.limits.map { ConditionPart(sql: $0) }
    }
}

import ParseProtocol

/// Queries: pages, counts and cursors.
extension ObjectReader {
    /// A page of objects, or the size that it needs when that exceeds `Query.answerBytesMax`.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    public func find(_ query: Query, caller: Caller) throws -> FoundPage {
        do {
            return try page(query, caller)
        } catch let page as ResponseTooBig {
            return FoundPage(body: [], rows: 0, bytesNeeded: page.needed(rows: query.limit))
        }
    }

    private func page(_ query: Query, _ caller: Caller) throws -> FoundPage {
        guard query.hasOneStatement else { return try reading { try page(query, caller, readsGeneration: false) } }
        return try readingOnce { try page(query, caller, readsGeneration: $0) }
    }

    private func page(_ query: Query, _ caller: Caller, readsGeneration: Bool) throws -> FoundPage {
        guard let bytesMax = query.answerBytesMax, bytesMax <= Self.draftBytesMax else {
            var body: [UInt8] = []
            body.reserveCapacity(Self.capacity(for: query))
            let (rows, sharing) = try append(query, caller, readsGeneration, to: &body)
            return FoundPage(body: body, rows: rows, sharing: sharing)
        }
        // Most oversized pages exceed the limit only after filling it. They are written into a reused buffer,
        // because allocating new memory costs many times more than writing to it.
        var draft: [UInt8] = []
        swap(&draft, &pageDraft)
        draft.removeAll(keepingCapacity: true)
        defer { if draft.capacity <= 4 * Self.draftBytesMax { swap(&draft, &pageDraft) } }
        let (rows, sharing) = try append(query, caller, readsGeneration, to: &draft)
        return FoundPage(body: draft.withUnsafeBufferPointer(Array.init), rows: rows, sharing: sharing)
    }

    /// Appends the page.
    /// - Throws: `ResponseTooBig` when it is larger than the query allows, `.invalidQuery` (102) above 32 MiB.
    private func append(
        _ query: Query, _ caller: Caller, _ readsGeneration: Bool, to body: inout [UInt8]
    ) throws -> (rows: Int, sharing: ResponseSharing) {
        let bytesMax = min(query.answerBytesMax ?? .max, ObjectReader.answerBytesMax)
        body.append(contentsOf: #"{"results":["#.utf8)
        var rows = 0
        var nextCheck = min(ObjectReader.bytesPerCheck, bytesMax)
        let found = try forEachRow(of: query, caller, readsGeneration: readsGeneration) { statement, selection, score in
            if rows > 0 { body.append(UInt8(ascii: ",")) }
            rows += 1
            selection.append(statement.bytes(0), objectId: statement.text(1), to: &body)
            if body.count >= nextCheck {
                guard body.count <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
                guard body.count <= bytesMax else { throw ResponseTooBig(bytes: body.count, rows: rows) }
                try connection.timeLimit.check()
                nextCheck = min(body.count + ObjectReader.bytesPerCheck, max(bytesMax, body.count + 1))
            }
            if let score, body.last == UInt8(ascii: "}") {
                body.removeLast()
                body.append(contentsOf: #","score":\#(score)}"#.utf8)
            }
        }
        guard body.count <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
        body.append(UInt8(ascii: "]"))
        var isShareable = found.isShareable
        if query.wantsCount {
            let counted = try counted(query, caller, readsGeneration)
            body.append(contentsOf: #","count":\#(counted.count)"#.utf8)
            isShareable = isShareable && counted.isShareable
        }
        if let cursor = found.cursor {
            body.append(contentsOf: #","cursor":"#.utf8)
            body.append(contentsOf: JSON.string(cursor).serialized)
        }
        body.append(UInt8(ascii: "}"))
        return (rows, try isShareable ? sharing(of: query, caller) : .nobody)
    }

    /// Limit of the size of a page that is first written into the reader's own buffer and then copied into a response.
    private static let draftBytesMax = 1 << 20

    /// The initial capacity: for a page of typical objects, or the whole limit of a large response. Unwritten memory
    /// costs nothing, and growing in steps costs as much as finding the rows.
    private static func capacity(for query: Query) -> Int {
        if let bytesMax = query.answerBytesMax, bytesMax > 1 << 20 { return min(bytesMax, answerBytesMax) + 65_536 }
        return min(max(query.limit, 1), 100) * 1100 + 64
    }

    /// The page of `find`, decoded.
    public func documents(_ query: Query, caller: Caller) throws -> [JSON] {
        try reading {
            var documents: [JSON] = []
            try forEachRow(of: query, caller) { statement, selection, score in
                var document: [UInt8] = []
                selection.append(statement.bytes(0), objectId: statement.text(1), to: &document)
                var object = try JSON(parsing: document)
                if let score { object["score"] = .double(score) }
                documents.append(object)
            }
            return documents
        }
    }

    /// The number of matches, ignoring limit and skip.
    public func count(_ query: Query, caller: Caller) throws -> Int {
        try reading {
            return try counted(query, caller, false).count
        }
    }

    private func counted(
        _ query: Query, _ caller: Caller, _ readsGeneration: Bool
    ) throws -> (count: Int, isShareable: Bool) {
        guard let compiled = try compiled(query, .count, nil, caller) else { return (0, false) }
        let statement = try compiled.prepared(compiled.countSQL, connection, caller)
        defer { end(statement, of: compiled.countShape, caller) }
        if readsGeneration { try sendWithGeneration(statement) }
        let count = try statement.step() ? Int(statement.int(0)) : 0
        if readsGeneration { try takeGeneration() }
        return (count, compiled.isShareable)
    }

    /// The callers that can share the response to a query whose result depends only on its text, its class and read
    /// rights.
    private func sharing(of query: Query, _ caller: Caller) throws -> ResponseSharing {
        guard reportsSharing, let info = schema.classes[query.className] else { return .nobody }
        // For permissions, a query for one object by its id is a get.
        let onlyCounts = query.limit <= 0 && query.wantsCount
        let actions: [ClassPermissions.Action] = onlyCounts ? [.count] : [.find, .get]
        return try ResponseSharing(
            of: info, to: caller, query.wantsCount ? actions + [.count] : actions, isPublic: { try isPublic(info) })
    }

    /// The end of an iteration over a query's rows.
    struct WalkedRows {
        /// The cursor after the last row, for a query with `after`.
        let cursor: String?
        /// Whether callers with the same read rights would see the same rows.
        let isShareable: Bool
    }

    @discardableResult func forEachRow(
        of query: Query, _ caller: Caller, readsGeneration: Bool = false,
        _ body: (any StoreStatement, FieldSelection, _ score: Double?) throws -> Void
    ) throws -> WalkedRows {
        // A limit of 0 with a count is the protocol's form of counting, which does not need the right to find.
        if query.limit <= 0, query.wantsCount {
            return WalkedRows(cursor: query.after, isShareable: query.after == nil)
        }
        let start = try start(of: query, caller)
        // Compiled even for a page without rows, so that an invalid query does not look like an empty result.
        guard let compiled = try compiled(query, .find, start, caller), query.limit > 0,
            let info = schema.classes[query.className]
        else { return WalkedRows(cursor: query.after, isShareable: false) }
        let excludeKeys = compiled.hasScore ? query.excludeKeys + ["score"] : query.excludeKeys
        let selection = try selection(info, keys: query.keys, excludeKeys: excludeKeys, caller)
        let statement = try compiled.prepared(
            compiled.way(to: query, connection, caller), connection, caller, limit: query.limit, skip: query.skip)
        defer { end(statement, of: compiled.shape, caller) }
        if readsGeneration { try sendWithGeneration(statement) }
        var hasRow = try statement.step()
        if readsGeneration { try takeGeneration() }
        var last: QueryCursor?
        while hasRow {
            try body(statement, selection, compiled.hasScore ? statement.real(2) : nil)
            if start != nil { last = cursor(at: statement, of: query, compiled) }
            hasRow = try statement.step()
        }
        if let last { return WalkedRows(cursor: try last.text(), isShareable: false) }
        // No new rows: the next page starts at the same position.
        if case .cursor(let cursor) = start { return WalkedRows(cursor: try cursor.text(), isShareable: false) }
        return WalkedRows(cursor: query.after, isShareable: query.after == nil && compiled.isShareable)
    }

    /// Records a query whose rows took long to find, even if it was interrupted.
    private func end(_ statement: any StoreStatement, of shape: QueryShape?, _ caller: Caller) {
        statement.reset()
        let cost = statement.takeCost()
        if cost >= ShapeTable.runCostMin, let shape { shapes?.note(shape, cost: cost, by: caller) }
    }

    // MARK: Cursors

    func start(of query: Query, _ caller: Caller) throws -> PageStart? {
        guard let after = query.after else { return nil }
        guard query.skip <= 0 else { throw ParseError(.invalidQuery, "after and skip are not possible together.") }
        let start = try PageStart(after)
        guard case .object(let objectId) = start else { return start }
        guard let compiled = try compiled(query, .find, .beginning, caller), let sql = compiled.positionSQL else {
            return start
        }
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        try caller.bind(to: statement)
        try statement.bind(objectId, at: 5)
        guard try statement.step() else {
            throw ParseError(
                .invalidQuery, "The object in after no longer exists. Pass the page's cursor instead of an objectId."
            )
        }
        return .cursor(cursor(at: statement, of: query, compiled))
    }

    private func cursor(at statement: any StoreStatement, of query: Query, _ compiled: CompiledQuery) -> QueryCursor {
        QueryCursor(
            className: query.className, order: query.order, values: compiled.orderColumns.map(statement.value),
            row: statement.int(compiled.orderColumns.lowerBound - 1), objectId: statement.text(1))
    }

    // MARK: Compiling

    /// The SQL of a query, after a check of the caller's class-level permissions; nil for a class that does not exist.
    func compiled(
        _ query: Query, _ action: ClassPermissions.Action, _ start: PageStart?, _ caller: Caller
    ) throws -> CompiledQuery? {
        guard let info = schema.classes[query.className] else {
            if !Names.isClassName(query.className) { throw ParseError.invalidClassName(query.className) }
            // An invalid query is an error even if the class does not exist.
            let nothing = ClassInfo(id: 0, name: query.className, fields: [:], permissions: .init(), textFields: [])
            var compiler = ConditionCompiler(info: nothing, hidden: [], isCounting: action == .count) { _, _, _ in nil }
            let condition = try compiler.compile(try query.condition.json())
            _ = try CompiledQuery(
                condition: condition, compiler: compiler, order: query.order, kind: CallerKind(caller), userFields: nil,
                wantsScore: false)
            return nil
        }
        var userFields: [String]?
        let decided = action == .find && query.namesOneObject ? .get : action
        if case .whereUserIs(let fields) = try info.permissions.decide(decided, caller, className: info.name) {
            userFields = fields
        }
        let hidden = info.unqueryableFields(by: caller)
        let wantsScore = query.keys.contains("$score")
        let kind = CallerKind(caller)
        let (kept, equalities) = start == nil && query.hookedClasses.isEmpty ? query.kept(for: info) : (nil, nil)
        let key = kept.map {
            CompiledQuery.Key(
                className: info.name, condition: $0, order: query.order, kind: kind, userFields: userFields ?? [],
                hidden: hidden, wantsScore: wantsScore)
        }
        if let key, let compiled = queries[key] {
            return equalities.map { compiled.comparing(with: $0.values) } ?? compiled
        }
        var compiler = ConditionCompiler(
            info: info, hidden: hidden, isCounting: action == .count,
            access: try CompiledQuery.access(kind, userFields, info),
            pointed: { [unowned self] in try pointed($0, of: query, caller) }
        ) { [unowned self] in try relation($0, $1, $2, to: info.name, caller) }
        let condition = try compiler.compile(try query.condition.json())
        let compiled = try CompiledQuery(
            condition: condition, compiler: compiler, order: query.order, kind: kind, userFields: userFields,
            wantsScore: wantsScore, start: start)
        if let key, compiled.isCacheable, equalities?.areBound(by: compiled) ?? true {
            if queries.count >= ObjectReader.queriesMax { queries = [:] }
            queries[key] = compiled
        }
        return compiled
    }

    /// A class that pointers lead to, with the caller's rights.
    private func pointed(_ className: String, of query: Query, _ caller: Caller) throws -> PointedClass? {
        guard !query.hookedClasses.contains(className) else {
            throw ParseError(
                .invalidQuery,
                """
                A webhook decides what is found in \(className): a query cannot sort or filter by its fields. \
                Use $inQuery.
                """
            )
        }
        let foreign = query.foreignClasses
        // Comparing session tokens would let a caller find one letter by letter.
        guard className != "_Session" else {
            throw ParseError(.operationForbidden, "A query cannot look into sessions.")
        }
        guard let info = schema.classes[className] else {
            guard !foreign.contains(className), !foreign.contains("*") else {
                throw ParseError(
                    .invalidQuery,
                    """
                    \(className) is in another service: a query cannot sort or filter by its fields. Use $inQuery.
                    """
                )
            }
            return nil
        }
        var userFields: [String]?
        if case .whereUserIs(let fields) = try info.permissions.decide(.get, caller, className: className) {
            userFields = fields
        }
        return PointedClass(
            info: info, hidden: info.unqueryableFields(by: caller), kind: CallerKind(caller),
            userFields: userFields)
    }
}

extension Query {
    /// The condition in the cache key of the compiled query, and the values to bind at each run; nil for a condition
    /// that is always compiled.
    fileprivate func kept(
        for info: ClassInfo
    ) -> (condition: CompiledQuery.Key.Condition?, equalities: PlainEqualities?) {
        switch condition {
        case .text(let text):
            guard text.count <= ObjectReader.cachedBytesMax else { return (nil, nil) }
            // A condition with other operators is not parsed only to find that.
            let mayBePlain = !text.isEmpty && (!text.contains(UInt8(ascii: "$")) || text.contains(text: "\"$ne\""))
            guard mayBePlain, let members = (try? JSON(parsing: text))?.objectValue,
                let equalities = PlainEqualities(members, of: info)
            else { return (.text(text), nil) }
            return (.form(equalities.form), equalities)
        case .value(let value):
            let equalities = value.objectValue.flatMap { PlainEqualities($0, of: info) }
            return (equalities.map { .form($0.form) }, equalities)
        }
    }

    /// Whether its rows, or only their count, are found by one statement; others need one snapshot.
    fileprivate var hasOneStatement: Bool {
        guard after == nil, !wantsCount || limit <= 0, case .text(let text) = condition else { return false }
        // An escape may stand for any character of the name.
        guard !text.contains(text: "\\u") else { return false }
        return !text.contains(UInt8(ascii: "$")) || !text.contains(text: "$relatedTo")
    }

    /// Whether the condition is only `{"objectId": "…"}`, which counts as a get for permissions.
    fileprivate var namesOneObject: Bool {
        switch condition {
        case .value(let value): return Query.namesOneObject(value)
        case .text(let text):
            // Few texts begin like this; only these are parsed.
            let start = text.drop { $0 != UInt8(ascii: "\"") }
            return start.starts(with: Query.objectIdName)
                && (try? JSON(parsing: text)).map(Query.namesOneObject) == true
        }
    }

    private static let objectIdName = Array(#""objectId""#.utf8)

    static func namesOneObject(_ condition: JSON) -> Bool {
        condition.objectValue?.count == 1 && condition["objectId"]?.stringValue != nil
    }
}

extension Query.Condition {
    fileprivate func json() throws -> JSON {
        switch self {
        case .value(let value): return value
        case .text(let text):
            if text.isEmpty { return [:] }
            do {
                return try JSON(parsing: text)
            } catch .tooDeep {
                throw ParseError(.invalidQuery, "where is nested too deeply.")
            } catch .tooManyValues {
                throw ParseError(.invalidQuery, "where has more than \(JSON.valuesMax) values.")
            } catch {
                throw ParseError(.invalidJSON, "where is not valid JSON.")
            }
        }
    }
}

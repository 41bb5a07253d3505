import MessageBus
import Messages
import ParseProtocol

/// `/schemas` and `/purge`: classes with their fields, permissions and indexes; master key only (PARSE_PROTOCOL section
/// 7).
struct SchemasController: Sendable {
    let services: ServiceClient

    func list(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        // The texts are joined without decoding, because decoding would lose the order of the fields.
        var schemas: [[UInt8]] = []
        for service in ServiceDirectory.objectServices {
            let reply = try await services.read(
                ObjectCalls(of: service).schemas, SchemasRequest(), for: principal, in: request.call)
            let list = try reply.document
            guard list.first == UInt8(ascii: "["), list.last == UInt8(ascii: "]") else { throw .internalError }
            if list.count > 2 { schemas.append(Array(list.dropFirst().dropLast())) }
        }
        let joined = schemas.joined(separator: Array(",".utf8))
        return ParseResponse(body: Array(#"{"results":["#.utf8) + Array(joined) + Array("]}".utf8))
    }

    func get(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: className).schemas, SchemasRequest.with { $0.className = className },
            for: principal, in: request.call)
        return ParseResponse(body: try reply.document)
    }

    /// Creates or changes a class; the path or the body names it.
    func save(
        _ verb: SchemaChange.Verb, _ named: String?, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let inBody = try request.object["className"]
        if let inBody, inBody.stringValue == nil {
            throw ParseError(.invalidClassName, "The class name must be a string.")
        }
        guard let className = named ?? inBody?.stringValue else {
            throw ParseError(.missingRequiredField, "POST /schemas needs a class name.")
        }
        if let other = inBody?.stringValue, other != className {
            throw ParseError(
                .invalidClassName, "Class name mismatch between \(other.prefix(128)) and \(className.prefix(128)).")
        }
        return try await change(verb, className, [try Self.withOrders(request)], request, principal)
    }

    /// The body plus two orders that decoding loses: of the fields, and of the fields in each index.
    private static func withOrders(_ request: ParseRequest) throws(ParseError) -> [UInt8] {
        let orders = JSONMemberOrder.names(in: request.body, under: "indexes").filter { $0.value.count > 1 }
        let fields = fieldNames(in: request.body)
        guard !orders.isEmpty || fields.count > 1 else { return request.document }
        var body = JSON.object(try request.object)
        if fields.count > 1 { body["_fieldOrder"] = .array(fields.map(JSON.string)) }
        for (index, names) in orders where body["indexes"]?[index]?.objectValue != nil {
            let fields = names.filter { !$0.hasPrefix("_") }
            if fields.count > 1 { body["indexes"]?[index]?["_order"] = .array(fields.map(JSON.string)) }
        }
        return body.serialized
    }

    private static func fieldNames(in body: [UInt8]) -> [String] {
        let ordered = try? JSON(parsing: body, membersInOrderOf: ["fields"])
        return (ordered?["fields"]?.arrayValue ?? []).compactMap { $0.arrayValue?.first?.stringValue }
    }

    /// Changes the type of a field and converts its values, or only reports what the conversion would do.
    func convert(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await change(.convert, className, [request.document], request, principal)
    }

    func drop(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await change(.drop, className, [], request, principal)
    }

    /// Purging a large class takes long.
    private static let purgeTimeout = Duration.seconds(120)

    func purge(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let reply = try await services.write(
            ObjectCalls(of: try owner(className, orOneOf: ServiceDirectory.masterClasses)).purge,
            SchemaChange.with { $0.className = className }, for: principal, in: request.call,
            timeout: Self.purgeTimeout)
        return ParseResponse(body: try reply.document)
    }

    private func change(
        _ verb: SchemaChange.Verb, _ className: String, _ documents: [[UInt8]], _ request: ParseRequest,
        _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let message = SchemaChange.with {
            $0.verb = verb
            $0.className = className
        }
        let reply = try await services.write(
            ObjectCalls(of: try owner(className)).schema, message, documents: documents, for: principal,
            in: request.call, timeout: Self.purgeTimeout)
        return ParseResponse(body: try reply.document)
    }

    /// - Parameter internalClasses: internal classes to accept besides the classes that clients can name.
    private func owner(
        _ className: String, orOneOf internalClasses: Set<String> = []
    ) throws(ParseError) -> String {
        guard Names.isClassName(className) || internalClasses.contains(className) else {
            throw ParseError.invalidClassName(className)
        }
        return ServiceDirectory.service(ofClass: className)
    }
}

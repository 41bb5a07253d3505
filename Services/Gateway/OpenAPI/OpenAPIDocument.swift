import Compression
import Foundation
import ParseProtocol
import ProcessKit

/// The OpenAPI 3.1 document of every route. Paths, verbs, names and rights come from `RouteTable`, so that the document
/// and the router agree. Parameters, bodies and responses come from the files in `OpenAPI`:
///
/// - `components.json`: schemas, parameters, responses and security schemes, in OpenAPI's form;
/// - `operations.json`: request and response by operation id; a route without an entry takes and returns any JSON;
/// - `functions.json`: the cloud functions with their parameters;
/// - `examples.json`: by function, a request, its result, and the meaning of its parameters.
///   `docs/reference/functions.md` is generated from the last two files.
struct OpenAPIDocument: Sendable {
    /// In gzip: the document has half a MB and is hardly ever fetched.
    private let compressed: [UInt8]
    /// Satchel's functions for the operators' list: `name`, `service`, whether it `writes`, `summary`, `caller`,
    /// `parameters`, `required` and an example of a `request`.
    let functions: [JSON]

    /// - Throws: when one of the files is missing or malformed, which aborts startup.
    init(routes: [Route], outside: [Route], publicURL: String) throws {
        let folder = Bundle.module.bundleURL.appendingPathComponent("OpenAPI")
        func read(_ name: String) throws -> JSON {
            do {
                return try JSON(parsing: Array(try Data(contentsOf: folder.appendingPathComponent("\(name).json"))))
            } catch {
                throw StartupProblem("OpenAPI/\(name).json cannot be used: \(error)")
            }
        }
        let components = try read("components")
        let operations = OpenAPIOperations(components: components, bodies: try read("operations"))
        var paths: [String: JSON] = [:]
        for route in routes { paths[route.path, default: [:]][route.method.member] = operations.operation(of: route) }
        let (functions, examples) = (try read("functions"), try read("examples"))
        let described = Set((functions.objectValue ?? [:]).keys)
        let different = described.symmetricDifference(ServiceDirectory.functionNames).sorted()
        guard different.isEmpty else {
            throw StartupProblem(
                "OpenAPI/functions.json and FunctionTable differ: \(different.joined(separator: ", "))")
        }
        self.functions = ServiceDirectory.functionNames.map { Self.function($0, functions[$0], examples[$0]) }
        for name in ServiceDirectory.functionNames {
            let operation = operations.operation(ofFunction: name, functions[name] ?? [:], examples[name] ?? [:])
            paths["/functions/\(name)"] = ["post": operation]
        }
        let origin = URLComponents(string: publicURL).map { parts -> String in
            var parts = parts
            parts.path = ""
            return parts.string ?? publicURL
        }
        for route in outside {
            paths[route.path, default: [:]][route.method.member] = operations.operation(of: route)
            paths[route.path, default: [:]]["servers"] = [["url": .string(origin ?? publicURL)]]
        }
        let document: JSON = [
            "openapi": "3.1.0",
            "info": [
                "title": "Satchel", "version": .string(satchelRelease), "description": Self.introduction,
            ],
            "servers": [["url": .string(publicURL)]],
            "tags": .array(Route.Tag.allCases.map { ["name": .string($0.rawValue)] }),
            "paths": .object(paths),
            "components": components,
        ]
        guard let compressed = Gzip.compressed(document.serialized) else {
            throw StartupProblem("There is no memory for the OpenAPI document.")
        }
        self.compressed = compressed
    }

    /// The document's bytes.
    var text: [UInt8] {
        get throws { try Inflater.unpack(compressed, .gzip, bytesMax: .max) }
    }

    private static func function(_ name: String, _ declared: JSON?, _ example: JSON?) -> JSON {
        let owner = ServiceDirectory.service(ofFunction: name)
        return [
            "name": .string(name), "service": .string(owner?.service ?? ""), "writes": .bool(owner?.writes ?? false),
            "summary": declared?["summary"] ?? "", "caller": declared?["caller"] ?? "anyone",
            "parameters": declared?["parameters"] ?? [:], "required": declared?["required"] ?? [],
            "request": example?["request"] ?? [:],
        ]
    }

    private static let introduction: JSON = """
        The Parse REST protocol. Every path may end with a slash and is there under /1 as well. Clients that cannot \
        send headers or other verbs put everything into the JSON body of a POST (schema Tunnel). HEAD answers as GET \
        does, without the body.
        """
}

extension ParseRequest.Method {
    /// The verb's name in OpenAPI.
    fileprivate var member: String { rawValue.lowercased() }
}

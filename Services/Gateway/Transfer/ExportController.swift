import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import ParseProtocol

/// `GET /export/<Class>?format=json|csv&where=…`: every object of a class that the caller may read, in the order of
/// their ids. The JSON form is that of hosted Parse's exports. Objects travel a page at a time, so a class of any size
/// needs the memory of a page.
struct ExportController: Sendable {
    let services: ServiceClient
    let federation: Federation

    /// Some hundred kilobytes a page.
    private static let pageRows = 500

    func run(
        _ className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try Transfers.requireOperator(principal)
        let isShown = principal.master && ServiceDirectory.masterClasses.contains(className)
        guard Names.isClassName(className) || isShown else {
            throw ParseError(
                .operationForbidden, "Objects of the class \(className.prefix(128)) cannot be exported.")
        }
        let options = try request.options()
        let format = options["format"]?.stringValue ?? "json"
        guard format == "json" || format == "csv" else {
            throw ParseError(.invalidQuery, "format must be json or csv.")
        }
        let filter = try QueryOptions(find: options.filter { $0.key == "where" }, limitMax: Self.pageRows).filter
        // The first page and the schema are read before the answer begins, so that an error can still be one.
        let pages = ExportPages(
            className: className, condition: filter.isEmpty ? [:] : try JSON(clientText: filter), rows: Self.pageRows,
            federation: federation, principal: principal, request: request)
        let first = try await pages.page(after: "")
        let columns =
            format == "csv"
            ? CSVColumn.all(of: try await Transfers.schema(of: className, services, trace: request.requestId)) : []
        let (head, tail) =
            format == "csv"
            ? (CSVTable.line(columns.map(\.name)), []) : (Array("{\"results\":[\n".utf8), Array("\n]}\n".utf8))
        var response = ParseResponse(body: [])
        response.headers[.contentType] = format == "csv" ? "text/csv; charset=utf-8" : "application/json; charset=utf-8"
        response.headers[.contentDisposition] = "attachment; filename=\"\(className).\(format)\""
        response.stream = ResponseBody { writer in
            try await writer.write(ByteBuffer(bytes: head))
            var page = first
            var isFirst = true
            while true {
                var bytes: [UInt8] = []
                for object in page.objects {
                    if format == "csv" {
                        bytes += CSVTable.line(columns.map { $0.text(object[$0.name]) })
                    } else {
                        if !isFirst { bytes += ",\n".utf8 }
                        bytes += object.serialized
                        isFirst = false
                    }
                }
                if !bytes.isEmpty { try await writer.write(ByteBuffer(bytes: bytes)) }
                guard let next = page.next else { break }
                // Ending the connection tells the client that the file is not complete.
                page = try await pages.page(after: next)
            }
            try await writer.write(ByteBuffer(bytes: tail))
            try await writer.finish(nil)
        }
        return response
    }
}

/// The objects of a class in pages by id: what others write meanwhile makes no page skip or repeat an object. A webhook
/// has its say in each page and none in where the next one begins.
private struct ExportPages: Sendable {
    let className: String
    let condition: JSON
    let rows: Int
    let federation: Federation
    let principal: Principal
    let request: ParseRequest

    struct Page: Sendable {
        let objects: [JSON]
        /// The cursor with which the next page begins; nil when nothing came any more.
        let next: String?
    }

    /// - Parameter cursor: empty for the first page.
    func page(after cursor: String) async throws(ParseError) -> Page {
        var options = QueryOptions()
        options.filter = condition.serialized
        options.order = ["objectId"]
        options.limit = rows
        options.after = cursor
        let answer = try JSON(reply: try await federation.find(className, options, principal, for: request))
        let next = answer["cursor"]?.stringValue ?? cursor
        return Page(objects: answer["results"]?.arrayValue ?? [], next: next == cursor ? nil : next)
    }
}

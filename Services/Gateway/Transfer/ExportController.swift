import HTTPTypes
import Messages
import ParseProtocol

/// `GET /export/<Class>?format=json|csv&where=…`: every object of a class that the caller may read, ordered by id. The
/// JSON has the form of hosted Parse's exports. Objects are read page by page, so that a class of any size needs the
/// memory of one page, which counts as a large response (`ReplyHold`).
struct ExportController: Sendable {
    let services: ServiceClient
    let federation: Federation
    let capacity: CapacitySettings
    private let slots = ExportSlots()

    init(services: ServiceClient, federation: Federation, capacity: CapacitySettings) {
        self.services = services
        self.federation = federation
        self.capacity = capacity
    }

    /// - Throws: `.operationForbidden` (119) for callers that are not operators and for internal classes,
    ///   `.invalidQuery` (102) for another format, `.requestLimitExceeded` (155) when too many exports run or there is
    ///   no memory for a page.
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
        let filter = try QueryOptions(
            find: options.filter { $0.key == "where" }, limitMax: ExportPageSize.rowsMax
        ).filter
        let slot = try slots.take(principal.userID.isEmpty ? request.network : principal.userID)
        // The first page and the schema are read before the response begins, so that an error can still set the status.
        let pages = ExportPages(
            className: className, condition: filter.isEmpty ? [:] : try JSON(clientText: filter),
            federation: federation, principal: principal, request: request)
        let first = try await pages.page(after: "", rows: ExportPageSize.rowsAtFirst)
        let columns =
            format == "csv"
            ? CSVColumn.all(of: try await Transfers.schema(of: className, services, in: request.call)) : nil
        let file = ExportFile(
            first, of: pages.afterwards, as: columns.map(ExportFile.Format.csv) ?? .json, capacity, in: slot)
        var response = ParseResponse(body: [])
        response.headers[.contentType] = format == "csv" ? "text/csv; charset=utf-8" : "application/json; charset=utf-8"
        response.headers[.contentDisposition] = "attachment; filename=\"\(className).\(format)\""
        response.stream = .stream { writer in try await file.send(through: writer) }
        return response
    }
}

import Foundation
import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// The answers to the gateway's requests. All files are in memory: an answer takes at most milliseconds.
package struct WebAnswers: Sendable {
    /// The service's name on the bus.
    package static let service = "web"
    /// The kinds of requests that have an answer.
    package static let kinds: Set<String> = [WebCalls.site.kind, WebCalls.page.kind, WebCalls.shop.kind, report.kind]

    private static let report = ObjectCalls(of: service).function
    private let site: WebSiteFiles
    private let pages: MailedLinkPages
    private let shop: Shop
    private let ownReport: ProcessReport

    /// Reads the files beside the executable.
    /// - Throws: `StartupProblem` when a file is missing or unusable.
    package init(_ configuration: WebConfiguration) throws {
        let folder = Bundle.module.bundleURL
        site = try WebSiteFiles(
            reading: folder.appendingPathComponent("Site"), shopName: configuration.shopName,
            currency: configuration.currency, zone: configuration.zone, tiles: configuration.tiles,
            texts: configuration.textsDirectory, shopFiles: configuration.shopFilesDirectory)
        pages = try MailedLinkPages(
            reading: folder.appendingPathComponent("Pages\(configuration.language.folder)"),
            replacements: configuration.pagesDirectory, shopName: configuration.shopName,
            texts: configuration.language == .de ? MailedLinkPages.german : [:])
        shop = try Shop(
            reading: folder.appendingPathComponent("Storefront"), replacements: configuration.shopFilesDirectory,
            shopName: configuration.shopName, currency: configuration.currency, zone: configuration.zone,
            isSandbox: configuration.isSandbox, stripeKey: configuration.stripeKey, tiles: configuration.tiles,
            assets: site.shopAssets)
        ownReport = ProcessReport(replica: configuration.replica, settings: configuration.settings)
    }

    /// - Throws: for a body that cannot be decoded; `BusFailure` for a request without an answer.
    func reply(to request: ServiceRequest) throws -> BusReply {
        switch request.kind {
        case WebCalls.site.kind:
            return try BusReply(site.reply(to: WebSiteRequest(serializedBytes: request.body)))
        case WebCalls.page.kind:
            let wanted = try WebPageRequest(serializedBytes: request.body)
            guard let html = pages.html(wanted.page, wanted.values) else {
                throw BusFailure(ParseError(.objectNotFound, "There is no page \(wanted.page)."))
            }
            return try BusReply(WebPageReply.with { $0.html = html })
        case WebCalls.shop.kind:
            return try BusReply(shop.reply(to: ShopRequest(serializedBytes: request.body)))
        case Self.report.kind:
            let wanted = try FunctionRequest(serializedBytes: request.body)
            guard wanted.name == ProcessReport.function, request.envelope.principal.isAdmin else {
                throw BusFailure(ParseError(.operationForbidden, "Only operators may do this."))
            }
            return try BusReply(FunctionReply(), documents: [ownReport.json.serialized])
        default:
            throw BusFailure.unknown(kind: request.kind)
        }
    }
}

/// Answers the requests of one lane, on the lane's thread.
final class WebLane: LaneHandler {
    private let answers: WebAnswers

    init(_ answers: WebAnswers) { self.answers = answers }

    func handle(_ request: ServiceRequest) {
        let request = request.traced()
        do {
            request.reply(.success(try answers.reply(to: request)))
        } catch let failure as BusFailure {
            request.reply(.failure(failure))
        } catch {
            request.reply(.failure(BusFailure(code: 107, "The body of \(request.kind) could not be read.")))
        }
    }
}

import Foundation
import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The look of the storefront that operators have chosen in Config. It is read again after a change of Config.
final class StorefrontLook: Sendable {
    private struct CachedTheme {
        let theme: Data
        let read: ReadCache.PageRead
        let since: BusClock.Milliseconds
    }

    private let services: ServiceClient
    private let links: FileLinks
    /// Nil when caching is off.
    private let cache: ReadCache?
    private let cached = Mutex<CachedTheme?>(nil)
    /// As of other reads: bounds the staleness after changes outside Satchel.
    private static let lifetime: BusClock.Milliseconds = 60_000

    init(services: ServiceClient, links: FileLinks, cache: ReadCache?) {
        self.services = services
        self.links = links
        self.cache = cache
    }

    /// JSON; empty for the standard look, also when Config cannot be read.
    func theme(_ request: ParseRequest, _ visit: inout StorefrontController.Visit) async -> Data {
        let now = BusClock.now
        if let cached = cached.withLock({ $0 }), cached.read.isCurrent, now - cached.since < Self.lifetime {
            visit.reads?.append(cached.read)
            return cached.theme
        }
        let read = cache?.pageRead(ChangeSubject.configClass, nil)
        do throws(ParseError) {
            let reply = try await services.read(
                CatalogCalls.config, ConfigRequest(), for: .of(network: request.network), in: request.call)
            let config = try? JSON(parsing: try reply.document)
            var theme = Data()
            if let value = config?["params"]?[WebCalls.themeParameter] {
                theme = Data(links.linked(Self.withoutURLs(value).serialized))
            }
            if let read {
                cached.withLock { $0 = CachedTheme(theme: theme, read: read, since: now) }
                visit.reads?.append(read)
            } else {
                visit.reads = nil
            }
            return theme
        } catch {
            visit.reads = nil
            return Data()
        }
    }

    /// Config keeps a File as it was sent, with a URL that could point anywhere.
    private static func withoutURLs(_ value: JSON) -> JSON {
        switch value {
        case .object(var members):
            if members["__type"] == "File" { members["url"] = nil }
            return .object(members.mapValues(withoutURLs))
        case .array(let elements): return .array(elements.map(withoutURLs))
        default: return value
        }
    }
}

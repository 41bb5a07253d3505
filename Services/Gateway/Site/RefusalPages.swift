import Messages
import ParseProtocol
import Synchronization

/// The pages that say why a page of the storefront was refused. `web` renders them. The gateway caches them for a
/// minute, so that a refusal costs nearly nothing.
final class RefusalPages: Sendable {
    private struct CachedPage {
        let html: String
        let until: ContinuousClock.Instant
    }

    private struct Key: Hashable {
        let status: Int
        let language: String
    }

    private let pages = Mutex<[Key: CachedPage]>([:])
    private static let pagesMax = 256
    private static let age = Duration.seconds(60)

    /// - Parameter languages: the browser's `Accept-Language`.
    /// - Returns: nil when `web` does not reply.
    func html(
        _ status: Int, _ languages: String, for request: ParseRequest, from services: ServiceClient
    ) async -> String? {
        let now = ContinuousClock.now
        let (key, cached) = pages.withLock { pages -> (Key, CachedPage?) in
            if pages.count >= Self.pagesMax { pages = pages.filter { $0.value.until > now } }
            let wanted = Key(status: status, language: Self.first(languages))
            // Beyond the limit, invented languages share one page.
            let hasRoom = pages[wanted] != nil || pages.count < Self.pagesMax
            let key = hasRoom ? wanted : Key(status: status, language: "")
            return (key, pages[key])
        }
        if let cached, cached.until > now { return cached.html }
        let message = ShopRequest.with {
            $0.method = "GET"
            $0.languages = key.language
            $0.refusal = UInt32(clamping: status)
        }
        guard
            let reply = try? await services.read(
                WebCalls.shop, message, for: .of(network: request.network), in: request.call),
            case .page(let page)? = try? reply.message.outcome
        else { return nil }
        pages.withLock { $0[key] = CachedPage(html: page.html, until: now + Self.age) }
        return page.html
    }

    /// The two letters of the first language: few, whatever a client sends.
    private static func first(_ languages: String) -> String {
        let letters = languages.utf8.prefix(2).map { $0 | 0x20 }
        let isName = letters.count == 2 && letters.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        return isName ? String(decoding: letters, as: UTF8.self) : ""
    }
}

import NIOCore
import ParseProtocol
import SuiteClient

/// One connection to the shop and its credentials.
struct LoadClient: Sendable {
    private let site: LoadSite
    private let group: any EventLoopGroup
    private let address: String
    private let timeout: Duration
    private var link: Link?
    var sessionToken: String?
    var masterKey: String?

    private let bodyBytesKept: Int

    /// The shop's mount path, as used by paths in a batch.
    var mount: String { site.mount }

    /// - Parameters:
    ///   - number: of the shopper; determines the shopper's address.
    ///   - bodyBytesKept: maximum bytes of an answer that are kept; the default is enough for errors and sessions.
    init(
        _ site: LoadSite, number: Int, timeout: Duration, on group: any EventLoopGroup, bodyBytesKept: Int = 4096
    ) {
        (self.site, self.timeout, self.group, self.bodyBytesKept) = (site, timeout, group, bodyBytesKept)
        address = LoadSite.address(ofShopper: number)
    }

    /// Sends a request over the connection, which is opened if needed.
    /// - Throws: `LinkError`, `AnswerError` or the system's error when there is no answer.
    mutating func send(_ request: Request) async throws -> Answer {
        var request = request
        if let sessionToken { request.headers["X-Parse-Session-Token"] = sessionToken }
        if let masterKey {
            // No forwarded address: the suite accepts the master key only from this machine.
            request.headers["X-Parse-Master-Key"] = masterKey
        } else if site.namesAddresses {
            request.headers["X-Forwarded-For"] = address
        }
        let bytes = request.bytes(for: site)
        do {
            let answer = try await exchange(bytes)
            if answer.closes { close() }
            return answer
        } catch {
            close()
            throw error
        }
    }

    /// - Throws: `LoadError` for an answer outside 200...299.
    mutating func json(_ request: Request) async throws -> JSON {
        let answer: Answer
        do { answer = try await send(request) } catch { throw LoadError("\(request.path): \(error)") }
        guard (200..<300).contains(answer.status), let json = answer.json else {
            throw LoadError("\(request.method) \(request.path): \(answer.status) \(answer.text.prefix(300))")
        }
        return json
    }

    /// Closes the connection.
    mutating func close() {
        link?.close()
        link = nil
    }

    private mutating func exchange(_ bytes: ByteBuffer) async throws -> Answer {
        if let link, link.isOpen {
            do {
                return try await link.send(bytes, timeout: timeout)
            } catch LinkError.closed {
                // A server may close an idle connection just when it is reused, so the client retries once, as every
                // client does.
            }
        }
        let new = try await Link.open(site, on: group, bodyBytesKept: bodyBytesKept)
        link = new
        return try await new.send(bytes, timeout: timeout)
    }
}

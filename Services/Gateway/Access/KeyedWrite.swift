import Cryptography
import Foundation
import HTTPTypes
import Messages
import ParseProtocol

/// A write with an `Idempotency-Key`.
///
/// A class, so that every other request copies nothing of it.
package final class KeyedWrite: Sendable {
    /// A digest of the client and its key, so that equal keys of two clients differ.
    let key: String
    /// A digest of method, path, query and body.
    let request: String
    /// Identifies this run of the write.
    let run = Names.random(16)
    /// Encrypts the stored response. It is derived from the client's key, which is stored nowhere.
    let secret: SymmetricKey

    init(key: String, request: String, secret: SymmetricKey) {
        (self.key, self.request, self.secret) = (key, request, secret)
    }

    static let replayedName = headerName("Idempotent-Replayed")

    /// The keys of a run's messages. Services encrypt stored replies with these keys. The keys cannot be computed from
    /// stored data.
    /// - Parameter seed: the same for every run of the write.
    package func keys(_ seed: String) -> WriteKeys {
        let digits = HMAC<SHA256>.authenticationCode(for: Array("messages \(seed)".utf8), using: secret).prefix(16).hex
        return WriteKeys(seed: digits)
    }

    /// The message that begins a run.
    var beginning: BeginWrite {
        .with {
            $0.key = key
            $0.request = request
            $0.run = run
        }
    }

    /// The message at the end of a run.
    package func end(_ answer: ParseResponse) -> EndWrite {
        let isStored =
            !answer.isTemporary && answer.stream == nil && answer.final == nil
            && answer.body.count <= EndWrite.answerBytesMax
        return EndWrite.with {
            $0.key = key
            $0.run = run
            $0.retriable = answer.isTemporary
            if isStored, let bytes = try? sealed(answer) { $0.answer = Data(bytes) }
        }
    }

    // MARK: Stored responses

    /// The encrypted form of a response: a line of JSON, then the body.
    /// - Throws: `CryptographyError`.
    func sealed(_ answer: ParseResponse) throws -> [UInt8] {
        var head: [String: JSON] = ["status": .int(Int64(answer.status))]
        head["location"] = answer.location.map(JSON.string)
        head["headers"] = .array(answer.headers.map { .array([.string($0.name.rawName), .string($0.value)]) })
        let text = JSON.object(head).serialized + [UInt8(ascii: "\n")] + answer.body
        return try AES.GCM.seal(text, using: secret, authenticating: request.utf8).combined
    }

    /// The response to a repeated request.
    /// - Parameter stored: empty when only the fact that the write was carried out is stored.
    /// - Throws: `.internalServerError` (1) for a response that was not stored for this write.
    package func replayed(_ stored: [UInt8]) throws(ParseError) -> ParseResponse {
        var answer = stored.isEmpty ? ParseResponse(Self.tooLarge) : try opened(stored)
        answer.headers[Self.replayedName] = "true"
        return answer
    }

    private func opened(_ stored: [UInt8]) throws(ParseError) -> ParseResponse {
        guard let box = try? AES.GCM.SealedBox(combined: stored),
            let text = try? AES.GCM.open(box, using: secret, authenticating: request.utf8),
            let end = text.firstIndex(of: UInt8(ascii: "\n")), let head = try? JSON(parsing: Array(text[..<end])),
            let status = head["status"]?.intValue
        else { throw .internalError }
        var answer = ParseResponse(
            status: Int(status), body: Array(text[(end + 1)...]), location: head["location"]?.stringValue)
        for field in head["headers"]?.arrayValue ?? [] {
            guard let parts = field.arrayValue, parts.count == 2, let value = parts[1].stringValue,
                let name = parts[0].stringValue.flatMap({ HTTPField.Name($0) })
            else { throw .internalError }
            answer.headers.append(HTTPField(name: name, value: value))
        }
        // The stored body already contains the URLs of files. A content type stops `ResponseWriter` from inserting them
        // again.
        if answer.headers[.contentType] == nil { answer.headers[.contentType] = Self.json }
        return answer
    }

    static let json = "application/json; charset=utf-8"

    private static let tooLarge = ParseError(
        .duplicateRequest, "This request was carried out before. Its response was too large to be stored.")
}

extension ParseResponse {
    /// Whether another run of the same request may get another answer: after 5xx, 429 and 124, and when a webhook gave
    /// no answer, also in a part of a batch.
    var isTemporary: Bool {
        hasTemporaryPart || status >= 500 || retryAfterSeconds != nil
            || error.map { $0.code == .timeout || WebhookAnswer.isMissing($0) } ?? false
    }
}

import Cryptography
import MessageBus
import ParseProtocol
import Synchronization

/// The idempotency keys of the messages that a request with an `Idempotency-Key` sends. A second run of the request
/// sends the same messages in the same order under the same keys, so that each service answers from its stored replies
/// what it has already done.
package final class WriteKeys: Sendable {
    private let prefix: String
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter seed: random, the same for every run of the request.
    convenience init(seed: String) { self.init(prefix: BusRequest.clientKeyPrefix + seed) }

    private init(prefix: String) { self.prefix = prefix }

    /// The keys of one request of a batch, which do not depend on the requests before it.
    func part(_ index: Int) -> WriteKeys { WriteKeys(prefix: "\(prefix).\(index)") }

    /// The key of the next message of a kind.
    package func next(_ kind: String) -> String {
        let count = counts.withLock { counts in
            let count = counts[kind, default: 0]
            counts[kind] = count + 1
            return count
        }
        return "\(prefix) \(kind) \(count)"
    }

    /// 32 hexadecimal digits that cannot be guessed, the same in every run.
    var digits: String { SHA256.hash(data: Array(prefix.utf8)).prefix(16).hex }
}

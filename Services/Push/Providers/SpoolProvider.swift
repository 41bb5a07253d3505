import Foundation
import ParseProtocol
import ServiceKit

/// Writes each notification to a file `<name>.json`, for development and for shops that deliver them themselves. A
/// repeated notification has the same name and replaces the first.
struct SpoolProvider: PushProvider {
    private let folder: SpoolFolder
    /// Disk writes block a thread; this queue is used for nothing else.
    private let queue = DispatchQueue(label: "push-spool")

    /// - Throws: when the folder cannot be created.
    init(directory: String) throws { folder = try SpoolFolder(directory) }

    func send(_ delivery: Delivery) async -> ProviderAnswer {
        var line: JSON = [
            "id": .string(delivery.name), "installation": .string(delivery.installation),
            "deviceType": .string(delivery.deviceType), "deviceToken": .string(delivery.token),
            "data": delivery.payload.data,
        ]
        if !delivery.push.isEmpty { line["pushId"] = .string(delivery.push) }
        line["badge"] = delivery.badge.map(JSON.int)
        line["expiresAt"] = delivery.expiresAt.map { .string($0.iso) }
        let bytes = line.serialized + [UInt8(ascii: "\n")]
        return await withCheckedContinuation { continuation in
            queue.async {
                do {
                    try folder.write(bytes, name: delivery.name + ".json")
                    continuation.resume(returning: .accepted)
                } catch {
                    continuation.resume(returning: .none("The spool cannot be written: \(error)"))
                }
            }
        }
    }
}

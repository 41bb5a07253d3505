/// Decides which messages of an outbox to one service travel together, without I/O.
///
/// Those that were never tried are one parcel, in their order; what does not fit waits for the next one, so that they
/// arrive in their order. A message that failed once travels alone: whatever is wrong with it, no other shares that.
package enum OutboxParcels {
    /// Messages of a parcel. The receiver commits them as one group.
    package static let messagesMax = 64
    /// Bytes of a parcel's messages, unless it has a single one. Far more than those of sixty orders, and a small part
    /// of what a frame may have (`BusMessage.frameBytesMax`).
    package static let bytesMax = 256 << 10

    /// - Parameter messages: the sizes of what is due in bytes, and how often each was tried.
    /// - Returns: the parcels to send now, none of them empty, each by its messages' places in `messages`. What is in
    ///   none of them waits.
    package static func packed(_ messages: [(bytes: Int, attempts: Int)]) -> [[Int]] {
        var parcels: [[Int]] = []
        var fresh: [Int] = []
        var bytes = 0
        var isFull = false
        for (place, message) in messages.enumerated() {
            guard message.attempts == 0 else {
                parcels.append([place])
                continue
            }
            bytes += message.bytes
            isFull = isFull || fresh.count == messagesMax || !fresh.isEmpty && bytes > bytesMax
            if !isFull { fresh.append(place) }
        }
        return fresh.isEmpty ? parcels : [fresh] + parcels
    }
}

/// Decides which messages to the same service travel together. Has no I/O.
///
/// Untried messages form one parcel in their order. Those that do not fit wait for the next parcel, so that messages
/// arrive in order. A message that failed once travels alone, so that its failure affects no other.
package enum OutboxParcels {
    /// Limit of messages per parcel. The receiver commits them as one group.
    package static let messagesMax = 64
    /// Limit of a parcel's bytes, unless it has a single message. It far exceeds the size of 60 orders and is a small
    /// part of the frame limit (`BusMessage.frameBytesMax`).
    package static let bytesMax = 256 << 10

    /// - Parameter messages: the sizes of the due messages in bytes, and the number of attempts so far.
    /// - Returns: the parcels to send now, none empty, as indices into `messages`. Messages in no parcel wait.
    package static func packed(_ messages: [(bytes: Int, attempts: Int)]) -> [[Int]] {
        var parcels: [[Int]] = []
        var fresh: [Int] = []
        var bytes = 0
        var isFull = false
        for (index, message) in messages.enumerated() {
            guard message.attempts == 0 else {
                parcels.append([index])
                continue
            }
            bytes += message.bytes
            isFull = isFull || fresh.count == messagesMax || !fresh.isEmpty && bytes > bytesMax
            if !isFull { fresh.append(index) }
        }
        return fresh.isEmpty ? parcels : [fresh] + parcels
    }
}

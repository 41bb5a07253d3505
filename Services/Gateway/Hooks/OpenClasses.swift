import MessageBus
import ParseProtocol
import Synchronization

/// The classes in which every client may create objects, as far as services have reported it. The gateway need not ask
/// before it runs a trigger of such a create. No I/O: time and stamps are arguments.
///
/// An entry lists the fields of earlier creates. A create with another field is checked with the service, which decides
/// whether the client may add the field to the class.
package struct OpenClassCache<Stamp: Sendable> {
    private struct Entry {
        let stamp: Stamp
        var fields: Set<String>
        let learntAt: BusClock.Milliseconds
    }

    /// More classes than any shop has.
    package static var countMax: Int { 4096 }
    /// Bounds the staleness after changes outside Satchel, such as an operator's edit of the database.
    package static var lifetime: BusClock.Milliseconds { 60_000 }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Whether every client may create an object with these fields now.
    /// - Parameter isCurrent: whether no class of the service has changed since a stamp was taken.
    package mutating func admits(
        _ className: String, _ fields: some Sequence<String>, now: BusClock.Milliseconds, isCurrent: (Stamp) -> Bool
    ) -> Bool {
        guard let entry = entries[className] else { return false }
        guard isCurrent(entry.stamp), now - entry.learntAt < Self.lifetime else {
            entries[className] = nil
            return false
        }
        return fields.allSatisfy(entry.fields.contains)
    }

    /// Records that every client may create an object with these fields.
    /// - Parameter stamp: taken before the service was asked.
    package mutating func learn(
        _ className: String, _ fields: some Sequence<String>, stamp: Stamp, now: BusClock.Milliseconds,
        isCurrent: (Stamp) -> Bool
    ) {
        guard isCurrent(stamp) else { return }
        if let entry = entries[className], isCurrent(entry.stamp) {
            // The earlier stamp is still current.
            entries[className]?.fields.formUnion(fields)
            return
        }
        if entries.count >= Self.countMax { entries = [:] }
        entries[className] = Entry(stamp: stamp, fields: Set(fields), learntAt: now)
    }
}

/// The gateway's list of classes in which every client may create objects. An entry is valid while the board of its
/// service (`ChangeBoard`) shows no change of a class. Without boards the list is empty.
final class OpenClasses: Sendable {
    private let book = Mutex(OpenClassCache<ChangeStamp>())
    private let boards: ReadCache?

    /// - Parameter boards: the services' boards; nil when there are none.
    init(boards: ReadCache?) { self.boards = boards }

    /// The version of a service's classes; nil during a change. Must be taken before the service is asked.
    func stamp(of service: String) -> ChangeStamp? { boards?.stamp(of: .classes, in: service) }

    /// Whether every client may create such an object.
    func admit(_ className: String, _ object: JSON?) -> Bool {
        guard case .object(let members)? = object else { return false }
        return book.withLock { $0.admits(className, members.keys, now: BusClock.now) { $0.isCurrent } }
    }

    /// Records a service's report that every client may.
    func learn(_ className: String, _ object: JSON?, _ stamp: ChangeStamp?) {
        guard let stamp, case .object(let members)? = object else { return }
        book.withLock { $0.learn(className, members.keys, stamp: stamp, now: BusClock.now) { $0.isCurrent } }
    }
}

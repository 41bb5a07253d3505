import MessageBus
import ParseProtocol
import Synchronization

/// The classes in which everybody may create objects, as far as services have said so: the gateway need not ask before
/// a trigger hears of such a create. Pure: time and stamps are arguments.
///
/// A class is known with the fields that it had in creates so far. One with another field is asked about: whether the
/// client may add it to the class is the service's to say.
package struct OpenClassBook<Stamp: Sendable> {
    private struct Entry {
        let stamp: Stamp
        var fields: Set<String>
        let learntAt: BusClock.Milliseconds
    }

    /// More than services have; classes come and go.
    package static var countMax: Int { 4096 }
    /// A bound for what changes without our doing, such as an operator who edits the database.
    package static var lifetime: BusClock.Milliseconds { 60_000 }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Whether everybody may create an object with these fields now.
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

    /// A service says that everybody may create an object with these fields.
    /// - Parameter stamp: taken before the service was asked.
    package mutating func learn(
        _ className: String, _ fields: some Sequence<String>, stamp: Stamp, now: BusClock.Milliseconds,
        isCurrent: (Stamp) -> Bool
    ) {
        guard isCurrent(stamp) else { return }
        if let entry = entries[className], isCurrent(entry.stamp) {
            // Nothing has changed since the earlier one either.
            entries[className]?.fields.formUnion(fields)
            return
        }
        if entries.count >= Self.countMax { entries = [:] }
        entries[className] = Entry(stamp: stamp, fields: Set(fields), learntAt: now)
    }
}

/// The gateway's list of classes in which everybody may create objects. It holds while the board of their service
/// (`ChangeBoard`) says that no class was changed; without boards nothing is known.
final class OpenClasses: Sendable {
    private let book = Mutex(OpenClassBook<ChangeStamp>())
    private let boards: ReadCache?

    /// - Parameter boards: whoever has the services' boards; nil where nobody has.
    init(boards: ReadCache?) { self.boards = boards }

    /// The classes of a service as they are now; nil while one is being changed. To be taken before it is asked.
    func stamp(of service: String) -> ChangeStamp? { boards?.stamp(of: .classes, in: service) }

    /// Whether everybody may create such an object.
    func admit(_ className: String, _ object: JSON?) -> Bool {
        guard case .object(let members)? = object else { return false }
        return book.withLock { $0.admits(className, members.keys, now: BusClock.now) { $0.isCurrent } }
    }

    /// A service says that everybody may.
    func learn(_ className: String, _ object: JSON?, _ stamp: ChangeStamp?) {
        guard let stamp, case .object(let members)? = object else { return }
        book.withLock { $0.learn(className, members.keys, stamp: stamp, now: BusClock.now) { $0.isCurrent } }
    }
}

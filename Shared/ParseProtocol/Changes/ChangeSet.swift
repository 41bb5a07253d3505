/// The part of a database that a read depends on.
package enum ChangeSubject: Hashable, Sendable {
    /// The classes of the database: their fields and permissions. A change of a class counts as a change of everything.
    case classes
    /// The results of queries on a class: any of its objects.
    case page(ofClass: String)
    /// One object.
    case object(ofClass: String, id: String)

    /// The class name under which files count as objects, by their names. No real class has this name.
    package static let filesClass = "_File"
    /// The class name under which the parameters of Config count as one object.
    package static let configClass = "_GlobalConfig"
}

/// The subjects that a commit changes.
package struct ChangeSet: Sendable {
    /// Above this limit the whole database counts as changed: so many subjects would touch most of a board's counters.
    package static let subjectsMax = 4096

    private static let usualSubjects = 48

    /// The changed subjects, unless everything changed.
    package private(set) var subjects: Set<ChangeSubject> = []
    /// Whether the whole database may have changed.
    package private(set) var isEverything = false
    /// The class of the last object; most commits change several objects of one class.
    private var lastClass: String?

    /// An empty set.
    package init() {}

    /// Whether nothing changed.
    package var isEmpty: Bool { !isEverything && subjects.isEmpty }

    /// Adds a created, changed or deleted object.
    package mutating func note(_ className: String, _ objectId: String) {
        guard !isEverything else { return }
        if className != lastClass {
            // A commit under load changes dozens of objects. Each growth of the set would hash all of them again.
            if subjects.isEmpty { subjects.reserveCapacity(Self.usualSubjects) }
            subjects.insert(.page(ofClass: className))
            lastClass = className
        }
        subjects.insert(.object(ofClass: className, id: objectId))
        if subjects.count > Self.subjectsMax { noteEverything() }
    }

    /// Marks everything as changed, for example when a class is created, deleted or changes its fields or permissions.
    package mutating func noteEverything() {
        isEverything = true
        subjects = []
    }
}

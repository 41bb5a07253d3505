/// The part of a database that a read depends on.
package enum ChangeSubject: Hashable, Sendable {
    /// The classes of the database: their fields and permissions. Whoever changes one notes everything.
    case classes
    /// What queries find in a class: any object of it.
    case page(ofClass: String)
    /// One object.
    case object(ofClass: String, id: String)

    /// What files are objects of, by their names. No class has such a name.
    package static let filesClass = "_File"
}

/// The subjects that a commit changes.
package struct ChangeSet: Sendable {
    /// Past this the whole database counts as changed: so many counters would be most of a board's.
    package static let subjectsMax = 4096

    /// What is changed, unless everything is.
    package private(set) var subjects: Set<ChangeSubject> = []
    /// Whether all of the database may be another.
    package private(set) var isEverything = false
    /// The class of the last object, of which most commits change several.
    private var lastClass: String?

    /// An empty set.
    package init() {}

    /// Whether nothing is changed.
    package var isEmpty: Bool { !isEverything && subjects.isEmpty }

    /// Adds an object that is created, changed or deleted.
    package mutating func note(_ className: String, _ objectId: String) {
        guard !isEverything else { return }
        if className != lastClass {
            subjects.insert(.page(ofClass: className))
            lastClass = className
        }
        subjects.insert(.object(ofClass: className, id: objectId))
        if subjects.count > Self.subjectsMax { noteEverything() }
    }

    /// Adds all there is, such as when a class changes: fields, permissions, the class as such.
    package mutating func noteEverything() {
        isEverything = true
        subjects = []
    }
}

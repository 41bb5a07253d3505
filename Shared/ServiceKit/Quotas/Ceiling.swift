/// The bounds on what may be there of clients at the same time. Operators go past each of these, up to what the file
/// itself can hold. The names are those of `SATCHEL_QUOTAS` and of the table in docs/settings.md.
public enum Ceiling: String, CaseIterable, Sendable {
    /// Classes of the catalog: of 1,000 the last 200 are the operator's.
    case classesMax
    /// Fields of a class that clients made: of 1,000 the last 200 are the operator's.
    case fieldsMax
    /// Fields and relations that clients add to one class of Satchel, such as `_User`.
    case sharedFieldsMax, sharedRelationsMax
    /// Files a user has, and their bytes; and the bytes of all clients' files.
    case userFilesMax, userFileBytesMax, clientFileBytesMax
    /// Items of a customer that are in no order that was made.
    case itemsMax
    case favoritesMax
    /// Installations that name a user as theirs.
    case userInstallationsMax
    /// Bytes of the file of analytics, past which the oldest events go.
    case eventLogBytesMax
    /// Free space of the disk below which clients add nothing.
    case diskFreeBytesMin

    var standard: Int {
        switch self {
        case .classesMax: 800
        case .fieldsMax: 800
        case .sharedFieldsMax: 200
        case .sharedRelationsMax: 8
        case .userFilesMax: 2000
        case .userFileBytesMax: 1 << 30
        case .clientFileBytesMax: 50 << 30
        case .itemsMax: 500
        case .favoritesMax: 2000
        case .userInstallationsMax: 100
        case .eventLogBytesMax: 2 << 30
        case .diskFreeBytesMin: 512 << 20
        }
    }
}

/// The limits on data of clients that exists at the same time. Operators may exceed them up to what the database can
/// hold. `SATCHEL_QUOTAS` and the table in docs/reference/settings.md use these names.
public enum ClientLimit: String, CaseIterable, Sendable {
    /// Classes of the catalog; of 1,000 the last 200 are reserved for the operator.
    case classesMax
    /// Fields of a class created by clients; of 1,000 the last 200 are reserved for the operator.
    case fieldsMax
    /// Fields and relations that clients add to one class of Satchel, such as `_User`.
    case sharedFieldsMax, sharedRelationsMax
    /// Files per user, their bytes, and the bytes of all clients' files.
    case userFilesMax, userFileBytesMax, clientFileBytesMax
    /// Items of a customer that belong to no placed order.
    case itemsMax
    case favoritesMax
    /// Installations that point to one user.
    case userInstallationsMax
    /// Bytes of the analytics database; beyond it the oldest events are deleted.
    case eventLogBytesMax
    /// Free disk space below which clients may not add data.
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

/// The party on whose behalf an operation runs. Permission checks of object reads and writes use it.
public struct Caller: Hashable, Sendable {
    /// The signed-in user, or nil.
    public var userId: String?
    /// Names of all roles of the user, inherited ones included, without the `role:` prefix.
    public var roles: [String]
    /// Has the master key (or is Satchel itself): no ACL or class-level permission applies.
    public var isMaster: Bool
    /// The installation named in the request; nil for none. It is not authenticated.
    public var installationId: String?
    /// Runs the shop: the master key, or an admin with a session of full rights. Quotas do not count such callers, and
    /// each limit reserves a part for them.
    public var isOperator: Bool
    /// Signed in to an account that is at least a day old. The last part of limits shared by all clients is reserved
    /// for such callers.
    public var isEstablished: Bool
    /// The network of the request, the key for counting a client without an account; empty when unknown.
    public var network: String

    /// A caller with only the given rights. The master key implies `isOperator`.
    public init(
        userId: String? = nil, roles: [String] = [], isMaster: Bool = false, installationId: String? = nil,
        isOperator: Bool = false, isEstablished: Bool = false, network: String = ""
    ) {
        self.userId = userId
        self.roles = roles
        self.isMaster = isMaster
        self.installationId = installationId
        self.isOperator = isOperator || isMaster
        self.isEstablished = isEstablished
        self.network = network
    }

    /// The master key, and Satchel itself.
    public static let master = Caller(isMaster: true)
    /// A client without a session.
    public static let anonymous = Caller()

    /// The principals under which an ACL or class-level permission can grant something to this caller.
    public var grants: [String] { ["*"] + (userId.map { [$0] } ?? []) + roles.map { "role:\($0)" } }
}

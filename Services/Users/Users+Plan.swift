import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// First component of this service's kinds and name of its file.
let usersName = "users"

/// The shared dependencies of account code, created from the configuration before the service runs.
package struct AccountDependencies: Sendable {
    /// For new passwords.
    let hasher: PasswordHasher
    let providers: IdentityProviders
    let settings: UsersSettings
    let key: AccountKey
    /// Asks the bag before an account is deleted.
    package var beginDeletion: BeginDeletion = askBag

    package typealias BeginDeletion =
        @Sendable (_ userId: String, _ host: ServiceHost, _ request: ServiceRequest?) async throws -> Void

    package init(hasher: PasswordHasher, providers: IdentityProviders, settings: UsersSettings, key: AccountKey) {
        self.hasher = hasher
        self.providers = providers
        self.settings = settings
        self.key = key
    }

    private static let askBag: BeginDeletion = { userId, host, request in
        let deleted = UserDeleted.with { $0.userID = userId }
        _ = try await host.call(
            BagCalls.beginDeletion, deleted, for: request, writes: true,
            idempotencyKey: "deletion:\(Names.random(20))")
    }
}

/// The classes and tables of the service.
package func usersPlan(_ means: AccountDependencies) -> ServicePlan {
    var plan = ServicePlan(
        name: usersName, classes: [userClass(means.settings.displayFields), sessionClass, roleClass],
        migrations: usersMigrations(means.key)
    ) { host in
        [
            "_User": UserRules(means, host: host),
            "_Session": SessionRules(settings: means.settings, key: means.key), "_Role": RoleRules(),
        ]
    }
    // With a restricted session, reads of users, sessions and roles have only public rights.
    plan.readingCaller = { $0.restricted && !$0.master ? Caller.anonymous : Caller($0) }
    let own = AnswerCompletion(key: means.key)
    plan.completion = { try own.complete($0, $1, $2) }
    plan.replySeal = ReplySeal(means.key)
    return plan
}

/// Users are private by their ACL. E-mail and authData are hidden from others even if the ACL makes the user readable.
/// - Parameter displayFields: the only fields that others see; nil for all unprotected ones.
private func userClass(_ displayFields: [String]?) -> ClassDefinition {
    ClassDefinition(
        "_User",
        fields: [
            "username": .string, "email": .string, "emailVerified": .boolean, "authData": .object, "firstName": .string,
            "lastName": .string, "name": .string, "displayName": .string, "gender": .numberOrText, "phone": .string,
            "address1": .string, "address2": .string, "city": .string, "state": .string, "zipcode": .string,
            "photo": .file, "isAdmin": .boolean,
        ],
        indexes: [["username"], ["email"]],
        permissions: subjectToACL.protecting(ClassPermissions.protectedOfUsers).showing(only: displayFields))
}

private let sessionClass = ClassDefinition(
    "_Session",
    fields: [
        "user": .pointer("_User"), "sessionToken": .string, "createdWith": .object, "restricted": .boolean,
        "installationId": .string, "expiresAt": .date,
    ],
    indexes: [["user", "installationId"], ["installationId", "createdAt"], ["expiresAt"]],
    uniqueIndexes: [["sessionToken"]],
    permissions: subjectToACL)

private let roleClass = ClassDefinition(
    "_Role", fields: ["name": .string, "users": .relation("_User"), "roles": .relation("_Role")],
    uniqueIndexes: [["name"]], permissions: roleCreation)

/// Class-level permissions allow everything; the objects' ACLs and the class's rules decide.
private let subjectToACL = ClassPermissions(
    find: .everybody, count: .everybody, get: .everybody, create: .everybody, update: .everybody, delete: .everybody,
    addField: .everybody)

/// As above, but creating roles requires a signed-in user.
private let roleCreation: ClassPermissions = {
    var permissions = subjectToACL
    permissions[.create] = .signedIn
    return permissions
}()

/// A plan without settings and providers, for tests.
package func usersPlan(hasher: PasswordHasher, key: AccountKey) -> ServicePlan {
    var means = AccountDependencies(hasher: hasher, providers: IdentityProviders(), settings: UsersSettings(), key: key)
    means.beginDeletion = { _, _, _ in }
    return usersPlan(means)
}
